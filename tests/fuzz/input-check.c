#include "tests/fuzz/input-check.h"

#include "sandbox/limits/limits.h"

#include <string.h>

static bool is_part(const char *part, size_t length)
{
    bool is_dots = (length == 1 || length == 2) && part[0] == '.' && part[length - 1] == '.';
    return length > 0 && length <= INPUT_NAME_PART_MAX && !is_dots;
}

bool input_check_name(const char *name, size_t length, const char *program)
{
    if (memchr(name, '\0', length) != NULL)
        return false;
    size_t parts = 1;
    const char *begin = name;
    for (const char *at = begin; at < name + length; at++) {
        if (*at != '/')
            continue;
        if (!is_part(begin, (size_t)(at - begin)))
            return false;
        begin = at + 1;
        parts++;
    }
    size_t first = (size_t)(strchrnul(name, '/') - name);
    if (first == strlen(program) && memcmp(name, program, first) == 0)
        return false;
    return is_part(begin, strlen(begin)) && parts <= INPUT_NAME_PARTS_MAX;
}

bool input_check_collide(const char *one, const char *other)
{
    size_t length = strlen(one) < strlen(other) ? strlen(one) : strlen(other);
    return memcmp(one, other, length) == 0 && (one[length] == '\0' || one[length] == '/') &&
           (other[length] == '\0' || other[length] == '/');
}
