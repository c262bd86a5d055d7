#include "sandbox/base/utf8.h"

#include <string.h>

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

static bool is_control(const char *character)
{
    const unsigned char *bytes = (const unsigned char *)character;
    return bytes[0] < 0x20 || bytes[0] == 0x7f || (bytes[0] == 0xc2 && bytes[1] < 0xa0);
}

void utf8_make_plain(char *text, bool lines)
{
    size_t length = strlen(text);
    for (size_t at = 0, step = 0; at < length; at += step) {
        bool valid = false;
        step = utf8_step(text + at, length - at, &valid);
        bool stays = lines && (text[at] == '\n' || text[at] == '\t');
        if (!valid || (is_control(text + at) && !stays))
            memset(text + at, '?', step);
    }
}
