#include "sandbox/jail/core_pattern.h"

#include "sandbox/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define SHOWN_MAX 100 /* bytes of the pattern in a message */

int core_pattern_check_text(rlim_t hard, const char *text, struct fault *fault)
{
    if (hard >= 1 || (text != NULL && text[0] != '|' && text[0] != '@'))
        return 0;
    const char *shown = text != NULL ? text : "unknown";
    size_t length = strnlen(shown, SHOWN_MAX);
    length = strcspn(shown, "\n") < length ? strcspn(shown, "\n") : length;
    fault_identify(fault, "core_pattern");
    return fault_set(fault, EPERM,
                     "a crash in a sandbox would start a program outside of it (%.*s in "
                     "/proc/sys/kernel/core_pattern), because the hard limit of core files is 0: "
                     "raise it for this program (`ulimit -Hc 1`, LimitCORE=1), or name a file in "
                     "core_pattern",
                     (int)length, shown);
}

int core_pattern_check(struct fault *fault)
{
    struct rlimit own;
    char text[256];
    if (getrlimit(RLIMIT_CORE, &own) < 0)
        return fault_set(fault, errno, "cannot look at the limit of core files: %m");
    if (own.rlim_max >= 1)
        return 0;
    int r = text_file_read(AT_FDCWD, "/proc/sys/kernel/core_pattern", text, sizeof(text));
    return core_pattern_check_text(own.rlim_max, r == 0 ? text : NULL, fault);
}
