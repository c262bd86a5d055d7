#include "sandbox/limits/meminfo.h"

#include "sandbox/base/text_file.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define LOW_PART 8
#define NEARLY_EXHAUSTED_PART 20
#define MEMINFO_SIZE 4096 /* the lines that matter come first */

uint64_t meminfo_line_bytes(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line != NULL ? strtoull(line + strlen(name), NULL, 10) * KIBIBYTE : 0;
}

bool meminfo_parse_is_low(const char *meminfo)
{
    return meminfo_line_bytes(meminfo, "\nMemAvailable:") <
           meminfo_line_bytes(meminfo, "MemTotal:") / LOW_PART;
}

bool meminfo_parse_is_nearly_exhausted(const char *meminfo)
{
    uint64_t available = meminfo_line_bytes(meminfo, "\nMemAvailable:");
    return strstr(meminfo, "\nMemAvailable:") != NULL && available < MACHINE_MEMORY_RESERVE &&
           available < meminfo_line_bytes(meminfo, "MemTotal:") / NEARLY_EXHAUSTED_PART;
}

static bool is(bool (*parse)(const char *meminfo))
{
    char text[MEMINFO_SIZE];
    return text_file_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) == 0 && parse(text);
}

bool meminfo_is_low(void)
{
    return is(meminfo_parse_is_low);
}

bool meminfo_is_nearly_exhausted(void)
{
    return is(meminfo_parse_is_nearly_exhausted);
}
