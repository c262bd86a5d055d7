#include "sandbox/procfile.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int procfile_write(pid_t pid, const char *name, const char *text, struct fault *fault)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    OWNED_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return fault_set(fault, errno, "writing \"%s\" to %s: %m", text, path);
    return 0;
}
