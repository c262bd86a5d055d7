/*
 * The URIs of kept files: sandbox://files/CALL/PATH, the path percent-encoded, and behind it ?offset=N where
 * a read begins later.
 *
 * Side: parent.  Source: RFC 3986.
 */
#ifndef MCP_FILES_FILE_URI_H
#define MCP_FILES_FILE_URI_H

#include "sandbox/base/buffer.h"

#include <stddef.h>
#include <stdint.h>

#define FILE_URI_BEGIN "sandbox://files/"
#define FILE_URI_TEMPLATE FILE_URI_BEGIN "{call}/{+path}"
/* Longer ones are no URIs of ours. */
#define FILE_URI_MAX 4096

/* Appends the URI; as buffer_append(). */
int file_uri_write(struct buffer *text, uint64_t call, const char *path);

struct file_uri {
    uint64_t call;
    char *path; /* owned; not empty */
    uint64_t offset; /* 0 where none is given */
};

void file_uri_release(struct file_uri *uri);

/*
 * From the client: untrusted. 0; 1: it is no URI of a file; -EINVAL: it is one with a query other than
 * offset=N; -ENOMEM.
 */
int file_uri_read(const char *text, size_t length, struct file_uri *ret_uri);

#endif
