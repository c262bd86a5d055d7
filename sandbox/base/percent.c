#include "sandbox/base/percent.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Not isalnum(3), which goes by the locale. */
static bool is_plain(char byte)
{
    static const char others[] = "-._~/";
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr(others, byte) != NULL);
}

int percent_encode(struct buffer *text, const char *bytes, size_t length)
{
    int r = 0;
    for (size_t i = 0; i < length && r == 0; i++) {
        if (is_plain(bytes[i]))
            r = buffer_append(text, &bytes[i], 1);
        else
            r = buffer_format(text, "%%%02X", (unsigned)(unsigned char)bytes[i]);
    }
    return r;
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

int percent_decode(struct buffer *bytes, const char *text, size_t length)
{
    int r = 0;
    for (size_t i = 0; i < length && r == 0; i++) {
        char byte = text[i];
        if (byte == '%') {
            int high = i + 1 < length ? digit_value(text[i + 1]) : -1;
            int low = i + 2 < length ? digit_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return -EINVAL;
            byte = (char)(high << 4 | low);
            i += 2;
        }
        r = buffer_append(bytes, &byte, 1);
    }
    return r;
}
