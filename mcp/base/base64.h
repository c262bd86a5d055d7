/*
 * Encodes bytes as base64, with padding, on one line.
 *
 * Side: parent.  Source: RFC 4648, section 4.
 */
#ifndef MCP_BASE_BASE64_H
#define MCP_BASE_BASE64_H

#include "sandbox/base/buffer.h"

/* Appends, all or nothing. Returns like buffer_append(). */
int base64_append(struct buffer *text, const char *bytes, size_t length);

#endif
