#include "mcp/files/plain_name.h"

#include "mcp/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <stdint.h>
#include <string.h>

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

/* The code point of a well-formed sequence. */
static uint32_t decode(const char *bytes, size_t length)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)bytes[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        point = point << 6 | ((unsigned char)bytes[i] & 0x3f);
    return point;
}

static bool is_visible(const char *bytes, size_t length)
{
    uint32_t point = decode(bytes, length);
    for (size_t i = 0; i < ARRAY_LENGTH(invisible); i++) {
        if (point >= invisible[i].first && point <= invisible[i].last)
            return false;
    }
    return true;
}

void plain_name_make(char *name)
{
    size_t length = strlen(name);
    size_t written = 0;
    for (size_t at = 0, step = 0; at < length; at += step) {
        bool valid = false;
        step = utf8_step(name + at, length - at, &valid);
        if (valid && is_visible(name + at, step)) {
            memmove(name + written, name + at, step);
            written += step;
        } else {
            name[written++] = '_';
        }
    }
    name[written] = '\0';
    if (written > 0 && strchr("-.~ ", name[0]) != NULL)
        name[0] = '_';
    if (written > 0 && name[written - 1] == ' ')
        name[written - 1] = '_';
}

int plain_name_append(struct buffer *text, const char *name)
{
    OWNED_MEMORY char *plain = strdup(name);
    if (plain == NULL)
        return -ENOMEM;
    utf8_make_plain(plain, false);
    size_t length = strlen(plain);
    if (length <= NOTES_NAME_MAX)
        return buffer_append(text, plain, length);
    return buffer_format(text, "%.*s...", (int)utf8_valid_length(plain, NOTES_NAME_MAX), plain);
}
