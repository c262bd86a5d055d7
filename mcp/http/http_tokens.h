/*
 * The tokens that clients of the server have: the file of --http-token-file.
 *
 * It has one token alone, whose client is called "default", or lines of "NAME TOKEN". What a client has left in the
 * server (sessions, outputs, files) is its own: the number of its token is their owner (struct rpc).
 *
 * Side: parent.  Source: RFC 6750, section 2.1.
 */
#ifndef MCP_HTTP_HTTP_TOKENS_H
#define MCP_HTTP_HTTP_TOKENS_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a token. Shorter ones can be guessed. */
#define HTTP_TOKEN_MIN 16
#define HTTP_TOKEN_MAX 4096
#define HTTP_TOKENS_MAX 256
#define HTTP_TOKEN_NAME_MAX 64

struct http_token {
    const char *name, *value; /* in the text */
};

/* All zero: none is asked for. */
struct http_tokens {
    struct buffer text; /* owned */
    struct http_token list[HTTP_TOKENS_MAX];
    size_t count;
};

/*
 * Reads the file, which is private as in small_file.h. Tokens are printable ASCII without blanks, names letters, digits,
 * '-', '_' and '.'; no two lines have the same name or token. Blank lines and those that begin with '#' are skipped.
 * 0, or a negative errno with its fault.
 */
int http_tokens_read(struct http_tokens *tokens, const char *path, struct fault *fault);

/* Whether it is one of them; *ret_number is its place in the file. Takes as long whichever it is, or none. */
bool http_tokens_find(const struct http_tokens *tokens, const char *given, unsigned *ret_number);

void http_tokens_release(struct http_tokens *tokens);

#endif
