#include "sandbox/limits/meminfo.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AVAILABLE_PART 8
#define MEMINFO_SIZE 4096 /* the lines that matter are the first */

/* kB of the line, or 0. */
static unsigned long long kilobytes(const char *meminfo, const char *name)
{
    const char *line = strstr(meminfo, name);
    return line != NULL ? strtoull(line + strlen(name), NULL, 10) : 0;
}

bool meminfo_parse_is_low(const char *meminfo)
{
    return kilobytes(meminfo, "MemAvailable:") < kilobytes(meminfo, "MemTotal:") / AVAILABLE_PART;
}

bool meminfo_is_low(void)
{
    char text[MEMINFO_SIZE];
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return false;
    text[length] = '\0';
    return meminfo_parse_is_low(text);
}
