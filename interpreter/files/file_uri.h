/*
 * URIs of kept files: sandbox://files/CALL/PATH, with the path percent-encoded, and optionally
 * ?offset=N to read from a later byte.
 *
 * Side: parent.  Source: RFC 3986.
 */
#ifndef INTERPRETER_FILES_FILE_URI_H
#define INTERPRETER_FILES_FILE_URI_H

#include "sandbox/base/buffer.h"

#include <stddef.h>
#include <stdint.h>

#define FILE_URI_BEGIN "sandbox://files/"
#define FILE_URI_TEMPLATE FILE_URI_BEGIN "{call}/{+path}"
/* Longer texts are not URIs of files. */
#define FILE_URI_MAX 4096

/* Appends the URI; as buffer_append(). */
int file_uri_write(struct buffer *text, uint64_t call, const char *path);

struct file_uri {
    uint64_t call;
    char *path; /* owned; not empty */
    uint64_t offset; /* 0 if the URI has none */
};

void file_uri_release(struct file_uri *uri);

/*
 * Reads a URI from the client: untrusted. 0; 1: not the URI of a file; -EINVAL: its query is not
 * offset=N; -ENOMEM.
 */
int file_uri_read(const char *text, size_t length, struct file_uri *ret_uri);

#endif
