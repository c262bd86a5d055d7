#include "sandbox/base/base64.h"

#include <errno.h>
#include <stdint.h>

#define PADDING 64 /* index of '=', after the letters */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

/* A group of 1 to 3 bytes, as 4 letters. */
static inline void encode(const char *bytes, size_t count, char letters_of_it[4])
{
    uint32_t group = 0;
    for (size_t k = 0; k < 3; k++)
        group = group << 8 | (k < count ? (unsigned char)bytes[k] : 0);
    for (size_t k = 0; k < 4; k++)
        letters_of_it[k] = letters[k <= count ? group >> (18 - 6 * k) & 63 : PADDING];
}

/* The same of 3 bytes, without loops, which a compiler may leave as they are. */
static inline void encode_three(const unsigned char *bytes, char letters_of_it[4])
{
    uint32_t group = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
    letters_of_it[0] = letters[group >> 18];
    letters_of_it[1] = letters[group >> 12 & 63];
    letters_of_it[2] = letters[group >> 6 & 63];
    letters_of_it[3] = letters[group & 63];
}

int base64_append(struct buffer *text, const char *bytes, size_t length)
{
    int r = buffer_reserve(text, (length + 2) / 3 * 4);
    if (r < 0)
        return r;
    char *to = text->data + text->length;
    size_t whole = length - length % 3;
    for (size_t i = 0; i < whole; i += 3, to += 4)
        encode_three((const unsigned char *)bytes + i, to);
    if (whole < length)
        encode(bytes + whole, length - whole, to);
    text->length += (length + 2) / 3 * 4;
    return 0;
}

/* The value of a letter, or -1. */
static int value_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

/* How many characters at the end of the text are padding: 0, 1 or 2. */
static size_t padding_of(const char *text, size_t length)
{
    size_t count = 0;
    while (count < 2 && count < length && text[length - 1 - count] == letters[PADDING])
        count++;
    return count;
}

int base64_decode(struct buffer *bytes, const char *text, size_t length, size_t *ret_wrong)
{
    size_t padding = padding_of(text, length);
    size_t meant = length - padding;
    int r = buffer_reserve(bytes, meant / 4 * 3 + 3);
    if (r < 0)
        return r;
    char *at = bytes->data + bytes->length;
    uint32_t group = 0;
    for (size_t i = 0; i < meant; i++) {
        int value = value_of(text[i]);
        *ret_wrong = i;
        if (value < 0)
            return -EINVAL;
        group = group << 6 | (uint32_t)value;
        if (i % 4 != 0)
            *at++ = (char)(group >> (6 - 2 * (i % 4)));
    }
    *ret_wrong = length;
    if (length % 4 != 0)
        return -EINVAL;
    /* The bits of the last letter that belong to no byte. */
    *ret_wrong = meant - 1;
    if (padding > 0 && (group & (padding == 2 ? 0xf : 0x3)) != 0)
        return -EINVAL;
    bytes->length += length / 4 * 3 - padding;
    return 0;
}
