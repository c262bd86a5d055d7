#include "mcp/base/base64.h"

#include <stdint.h>

#define PADDING 64 /* index of '=', after the letters */

int base64_append(struct buffer *text, const char *bytes, size_t length)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    int r = buffer_reserve(text, (length + 2) / 3 * 4);
    if (r < 0)
        return r;
    for (size_t i = 0; i < length; i += 3) {
        size_t there = length - i < 3 ? length - i : 3;
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < there ? (unsigned char)bytes[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            text->data[text->length++] = letters[k <= there ? group >> (18 - 6 * k) & 63 : PADDING];
    }
    return 0;
}
