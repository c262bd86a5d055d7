#include "interpreter/settings/preload.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

/* NAME.NAME, each without a digit at its start. */
static bool is_module(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t part = strspn(text + i, letters);
        if (part == 0 || (text[i] >= '0' && text[i] <= '9'))
            return false;
        i += part;
        if (i < length && (text[i] != '.' || i + 1 == length))
            return false;
        i += i < length;
    }
    return length > 0;
}

int preload_check(const char *what, const char *modules, struct fault *fault)
{
    for (const char *name = modules;; name++) {
        size_t length = strcspn(name, ",");
        if (!is_module(name, length))
            return fault_set(
                fault, EINVAL,
                "%s: \"%.*s\" is not the name of a Python module: give names separated by "
                "commas, such as numpy,pandas",
                what, length < 40 ? (int)length : 40, name);
        name += length;
        if (name[0] == '\0')
            return 0;
    }
}
