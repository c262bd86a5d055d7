/*
 * Who may send requests: the host that they name, the page that they come from, the token that they
 * bring. Nothing of a request is read further before all three are right.
 *
 * A browser sends requests to this computer on behalf of any page. Origin reveals a page of another origin; Host, a
 * page whose host name resolves to this server (DNS rebinding).
 *
 * Side: parent.  Source: MCP 2025-11-25, "Transports", Security Warning; RFC 6750, section 2.1.
 */
#ifndef MCP_HTTP_HTTP_GUARD_H
#define MCP_HTTP_HTTP_GUARD_H

#include "mcp/http/http_address.h"
#include "mcp/http/http_tokens.h"

#include <stdbool.h>
#include <stdint.h>

struct http_guard {
    char address[HTTP_ADDRESS_TEXT_SIZE]; /* that we listen at, as in a URL */
    uint16_t port;
    bool is_loopback;
    const char *names;   /* borrowed; further hosts, separated by commas; or NULL */
    struct http_tokens tokens; /* owned */
};

/* Of the client: untrusted; NULL where there is no such field. */
struct http_credentials {
    const char *host;
    const char *origin;
    const char *authorization;
};

/*
 * 0: go on, and *ret_owner is the number of the client's token, or 0; else the status to answer with, and *ret_why says
 * what is wrong.
 */
unsigned http_guard_check(const struct http_guard *guard, const struct http_credentials *given,
                          unsigned *ret_owner, const char **ret_why);

void http_guard_release(struct http_guard *guard);

#endif
