#include "sandbox/base/fault.h"

#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* These errors have the same remedy everywhere. */
static void remedy_add(struct fault *fault, int error)
{
    const char *remedy = error == EMFILE   ? "; raise `ulimit -n`"
                         : error == ENFILE ? "; see /proc/sys/fs/file-max"
                                           : "";
    size_t length = strlen(fault->text);
    if (strstr(fault->text, remedy) == NULL)
        snprintf(fault->text + length, sizeof(fault->text) - length, "%s", remedy);
}

int fault_set(struct fault *fault, int error, const char *format, ...)
{
    if (fault != NULL && fault->text[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        errno = error;
        vsnprintf(fault->text, sizeof(fault->text), format, arguments);
        va_end(arguments);
        remedy_add(fault, error);
        utf8_make_plain(fault->text, true);
    }
    return -error;
}

void fault_prefix(struct fault *fault, const char *format, ...)
{
    if (fault == NULL)
        return;
    char rest[FAULT_TEXT_MAX];
    memcpy(rest, fault->text, sizeof(rest));
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(fault->text, sizeof(fault->text), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof(fault->text))
        return;
    int room = (int)sizeof(fault->text) - length; /* truncated, as in fault_set() */
    snprintf(fault->text + length, (size_t)room, ": %.*s", room, rest);
    utf8_make_plain(fault->text, true);
}
