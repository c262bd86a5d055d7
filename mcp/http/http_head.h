/*
 * The head of a request, byte by byte: a proxy in front must see its end, its fields and its length where we see them.
 *
 * libmicrohttpd before 0.9.77 takes a bare LF for the end of a line, NUL for that of a value, folded lines and blanks
 * before the colon, and shows only what it made of them. But it parses a head in place, so that what is between its
 * fields is known: they are where they would be in a head of the only accepted form. Later versions refuse the same by
 * MHD_OPTION_STRICT_FOR_CLIENT. Not seen, and passed: empty lines before a request; in a head of the older versions,
 * a NUL together with a bare LF, where CR LF should be.
 *
 * Side: parent.  Source: RFC 9112, sections 2.2, 3, 5, 6.3, 11.2; libmicrohttpd 0.9.75, connection.c.
 */
#ifndef MCP_HTTP_HTTP_HEAD_H
#define MCP_HTTP_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>

/* The arguments of an MHD_AccessHandlerCallback, whose url is not what the client sent. */
struct http_head {
    struct MHD_Connection *connection;
    const char *method, *url, *version;
    bool is_plain; /* http_head_is_plain() of the target */
};

/* Whether a target, as the client sent it, is read alike by all: it has no query, and nothing that stands for other bytes. */
bool http_head_is_plain(const char *target);

/* NULL: it has the accepted form; else what is wrong, for the client. */
const char *http_head_find_wrong(const struct http_head *head);

#endif
