#include "sandbox/limits/meminfo.h"

#include "sandbox/base/owned.h"
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

/* Page tables are no part of it: those of a process show. Some of these lines are missing on older kernels. */
static uint64_t kernel_bytes(const char *text, uint64_t total)
{
    static const char *const others[] = {
        "\nMemFree:",      "\nBuffers:",    "\nCached:",  "\nSwapCached:", "\nAnonPages:",
        "\nKReclaimable:", "\nPageTables:", "\nHugetlb:", "\nZswap:",      "\nBalloon:",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        uint64_t bytes = meminfo_line_bytes(text, others[i]);
        total = total > bytes ? total - bytes : 0;
    }
    return total;
}

void meminfo_parse(const char *text, struct meminfo *ret_memory)
{
    uint64_t total = meminfo_line_bytes(text, "MemTotal:");
    uint64_t available = meminfo_line_bytes(text, "\nMemAvailable:");
    *ret_memory = (struct meminfo){
        .is_low = available < total / LOW_PART,
        .is_nearly_exhausted =
            available < MACHINE_MEMORY_RESERVE && available < total / NEARLY_EXHAUSTED_PART,
        .shared_bytes = meminfo_line_bytes(text, "\nShmem:"),
        .kernel_bytes = kernel_bytes(text, total),
    };
}

struct meminfo meminfo_read(void)
{
    char text[MEMINFO_SIZE] = "";
    struct meminfo memory;
    text_file_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text));
    meminfo_parse(text, &memory);
    return memory;
}
