/*
 * Percent-encoding of paths in URIs.
 *
 * Side: parent.  Source: RFC 3986, 2.1 and 2.3.
 */
#ifndef SANDBOX_BASE_PERCENT_H
#define SANDBOX_BASE_PERCENT_H

#include "sandbox/base/buffer.h"

/* Appends the bytes, encoding all except unreserved characters and '/'. As buffer_append(). */
int percent_encode(struct buffer *text, const char *bytes, size_t length);

/* Appends the decoded bytes. As buffer_append(); -EINVAL: a '%' without two hexadecimal digits. */
int percent_decode(struct buffer *bytes, const char *text, size_t length);

#endif
