/*
 * Encodes bytes as base64, with padding, on one line, and decodes exactly that form.
 *
 * Side: parent.  Source: RFC 4648, section 4.
 */
#ifndef SANDBOX_BASE_BASE64_H
#define SANDBOX_BASE_BASE64_H

#include "sandbox/base/buffer.h"

/* Appends, all or nothing. Returns like buffer_append(). */
int base64_append(struct buffer *text, const char *bytes, size_t length);

/*
 * Appends the decoded bytes. `text` is untrusted. Decoding is strict: standard alphabet, no line breaks,
 * required padding, unused bits zero; so no two texts decode to the same bytes. 0; -EINVAL with the
 * offset of the first wrong character, or `length` if the text ends too early; otherwise like
 * buffer_append().
 */
int base64_decode(struct buffer *bytes, const char *text, size_t length, size_t *ret_wrong);

#endif
