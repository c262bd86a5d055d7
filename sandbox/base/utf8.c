#include "sandbox/base/utf8.h"

#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>

#define ESCAPE_SIZE 16

/* Table 3-7: how many bytes follow a lead byte, and the valid range of the first of them. */
static size_t follower_count(unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
    *ret_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    *ret_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 1;
    if (lead >= 0xe0 && lead <= 0xef)
        return 2;
    if (lead >= 0xf0 && lead <= 0xf4)
        return 3;
    return 0;
}

size_t utf8_step(const char *data, size_t length, bool *ret_valid)
{
    const unsigned char *bytes = (const unsigned char *)data;
    if (bytes[0] < 0x80) {
        *ret_valid = true;
        return 1;
    }
    unsigned char low, high;
    size_t followers = follower_count(bytes[0], &low, &high);
    size_t step = 1;
    while (step <= followers && step < length && bytes[step] >= low && bytes[step] <= high) {
        step++;
        low = 0x80;
        high = 0xbf;
    }
    *ret_valid = followers > 0 && step == followers + 1;
    return step;
}

size_t utf8_valid_length(const char *data, size_t length)
{
    size_t position = 0;
    bool valid = true;
    while (position < length) {
        size_t step = utf8_step(data + position, length - position, &valid);
        if (!valid)
            break;
        position += step;
    }
    return position;
}

/* Characters without a shape of their own: of the categories Cc, Cf, Zl and Zp. Source: Unicode 16. */
static const struct {
    uint32_t first, last;
} invisible[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x0600, 0x0605},
    {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},
    {0x08e2, 0x08e2},   {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe007f},
};

uint32_t utf8_decode(const char *bytes, size_t length)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)bytes[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        point = point << 6 | ((unsigned char)bytes[i] & 0x3f);
    return point;
}

bool utf8_is_visible(const char *bytes, size_t length)
{
    uint32_t point = utf8_decode(bytes, length);
    for (size_t i = 0; i < ARRAY_LENGTH(invisible); i++) {
        if (point >= invisible[i].first && point <= invisible[i].last)
            return false;
    }
    return true;
}

void utf8_make_plain(char *text, bool lines)
{
    size_t length = strlen(text);
    for (size_t at = 0, step = 0; at < length; at += step) {
        bool valid = false;
        step = utf8_step(text + at, length - at, &valid);
        bool stays = lines && (text[at] == '\n' || text[at] == '\t');
        if (!valid || (!utf8_is_visible(text + at, step) && !stays))
            memset(text + at, '?', step);
    }
}

/* Writes one step of utf8_step(); the length, < ESCAPE_SIZE. */
static size_t write_step(char *text, const char *bytes, size_t step, bool valid)
{
    static const char letters[] = "abtnvfr"; /* 7 to 13 */
    unsigned char first = (unsigned char)bytes[0];
    if (!valid) {
        size_t length = 0;
        for (size_t i = 0; i < step; i++)
            length += (size_t)snprintf(text + length, ESCAPE_SIZE - length, "\\x%02x",
                                       (unsigned char)bytes[i]);
        return length;
    }
    if (first == '\\')
        return (size_t)snprintf(text, ESCAPE_SIZE, "\\\\");
    if (utf8_is_visible(bytes, step)) {
        memcpy(text, bytes, step);
        return step;
    }
    if (first >= 7 && first <= 13)
        return (size_t)snprintf(text, ESCAPE_SIZE, "\\%c", letters[first - 7]);
    uint32_t point = utf8_decode(bytes, step);
    if (point < 0x80)
        return (size_t)snprintf(text, ESCAPE_SIZE, "\\x%02x", point);
    if (point < 0x10000)
        return (size_t)snprintf(text, ESCAPE_SIZE, "\\u%04x", point);
    return (size_t)snprintf(text, ESCAPE_SIZE, "\\U%08x", point);
}

int visible_append(struct buffer *text, const char *name, size_t length)
{
    int r = 0;
    for (size_t at = 0, step = 0; r == 0 && at < length; at += step) {
        char escape[ESCAPE_SIZE];
        bool valid = false;
        step = utf8_step(name + at, length - at, &valid);
        r = buffer_append(text, escape, write_step(escape, name + at, step, valid));
    }
    return r;
}

struct visible visible_name(const char *name)
{
    struct visible visible;
    size_t length = strlen(name);
    size_t written = 0;
    size_t at = 0;
    while (at < length) {
        bool valid = false;
        size_t step = utf8_step(name + at, length - at, &valid);
        if (at + step > VISIBLE_NAME_MAX)
            break;
        written += write_step(visible.text + written, name + at, step, valid);
        at += step;
    }
    snprintf(visible.text + written, sizeof(visible.text) - written, "%s",
             at < length ? "..." : "");
    return visible;
}
