#include "sandbox/jail/proc_file.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int proc_file_write(pid_t pid, const char *name, const char *text, struct fault *fault)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    OWNED_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return fault_set(fault, errno, "writing \"%s\" to %s: %m", text, path);
    return 0;
}

/*
 * Fields 48 and 49: arg_start and arg_end. Field 2 may contain any character; the last ")" ends it.
 */
#define FIELD_ARG_START 48

bool proc_file_parse_command_line(const char *stat_text, char **ret_command_line, size_t *ret_size)
{
    const char *at = strrchr(stat_text, ')');
    for (int field = 2; at != NULL && field < FIELD_ARG_START; field++)
        at = strchr(at + 1, ' ');
    uintptr_t start = 0;
    uintptr_t end = 0;
    if (at == NULL || sscanf(at, "%" SCNuPTR " %" SCNuPTR, &start, &end) != 2 || end <= start)
        return false;
    *ret_command_line = (char *)start; // NOLINT(performance-no-int-to-ptr)
    *ret_size = end - start;
    return true;
}

int proc_file_find_command_line(char **ret_command_line, size_t *ret_size, struct fault *fault)
{
    char text[2048];
    int r = text_file_read(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
    if (r < 0)
        return fault_set(fault, -r, "cannot read /proc/self/stat: %m. Is /proc mounted?");
    if (!proc_file_parse_command_line(text, ret_command_line, ret_size))
        return fault_set(fault, EPROTO, "/proc/self/stat does not tell where the arguments are");
    return 0;
}
