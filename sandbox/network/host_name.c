#include "sandbox/network/host_name.h"

#include <string.h>

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool host_name_read(const char *text, size_t length, char ret_name[HOST_NAME_SIZE])
{
    if (length > 0 && text[length - 1] == '.')
        length--;
    if (length == 0 || length > HOST_NAME_MAX_LENGTH)
        return false;
    size_t label = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c == '.' ? label == 0 : !is_allowed(c) || label == HOST_LABEL_MAX)
            return false;
        label = c == '.' ? 0 : label + 1;
        ret_name[i] = c;
    }
    ret_name[length] = '\0';
    return label > 0;
}

bool host_name_is_local(const char *name)
{
    return strcmp(name, "localhost") == 0 || host_name_is_below(name, "localhost");
}

bool host_name_is_numeric(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *label = dot != NULL ? dot + 1 : name;
    if (strncmp(label, "0x", 2) == 0)
        return strspn(label + 2, "0123456789abcdef") == strlen(label + 2);
    return strspn(label, "0123456789") == strlen(label);
}

bool host_name_is_below(const char *name, const char *domain)
{
    size_t length = strlen(name);
    size_t tail = strlen(domain);
    return length > tail + 1 && name[length - tail - 1] == '.' &&
           strcmp(name + length - tail, domain) == 0;
}
