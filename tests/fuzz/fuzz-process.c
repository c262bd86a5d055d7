/*
 * /proc/PID/stat and /proc/PID/status, which hold a name that the program chooses. The bytes as the
 * whole text; then as the numbers and the name of files as the kernel writes them, which give those
 * numbers back whatever the name is.
 */
#include "sandbox/base/owned.h"
#include "sandbox/jail/proc_file.h"
#include "sandbox/limits/proc_usage.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES_MAX 15 /* TASK_COMM_LEN without its NUL */

struct numbers {
    uint64_t user, system, children_user, children_system, threads, start, end;
    uint64_t anonymous, shared, tables, swapped; /* kilobytes */
};

/* As proc_pid_stat(5) has it, all 52 fields. */
static void write_stat(const struct numbers *numbers, const char *name, char *line, size_t size)
{
    snprintf(line, size,
             "77 (%s) S 1 2 3 4 -1 4194560 5 6 7 8 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
             " 20 0 %" PRIu64 " 0 9 10 11"
             " 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 %" PRIu64
             " %" PRIu64 " 0 0 0\n",
             name, numbers->user, numbers->system, numbers->children_user, numbers->children_system,
             numbers->threads, numbers->start, numbers->end);
}

static void check_stat(const struct numbers *numbers, const char *line)
{
    struct proc_usage_sample count = {0};
    FUZZ_CHECK(proc_usage_parse_stat(line, &count));
    uint64_t ticks =
        numbers->user + numbers->system + numbers->children_user + numbers->children_system;
    FUZZ_CHECK(count.processes == numbers->threads);
    FUZZ_CHECK(count.cpu_ns == (int64_t)(ticks * 1000000000U / (uint64_t)sysconf(_SC_CLK_TCK)));
    char *arguments = NULL;
    size_t size = 0;
    bool found = proc_file_parse_command_line(line, &arguments, &size);
    FUZZ_CHECK(found == (numbers->end > numbers->start));
    FUZZ_CHECK(!found ||
               ((uintptr_t)arguments == numbers->start && size == numbers->end - numbers->start));
}

/* As proc_pid_status(5) has it, in part; of a name, these two are escaped. */
static void write_status(const struct numbers *numbers, const char *name, struct buffer *text)
{
    FUZZ_CHECK(buffer_append_text(text, "Name:\t") == 0);
    for (; *name != '\0'; name++) {
        int r = *name == '\n'   ? buffer_append_text(text, "\\n")
                : *name == '\\' ? buffer_append_text(text, "\\\\")
                                : buffer_append(text, name, 1);
        FUZZ_CHECK(r == 0);
    }
    FUZZ_CHECK(
        buffer_format(text,
                      "\nUmask:\t0022\nState:\tS (sleeping)\nVmHWM:\t       1 kB\n"
                      "VmRSS:\t       4 kB\nRssAnon:\t%8" PRIu64 " kB\n"
                      "RssFile:\t       3 kB\nRssShmem:\t%8" PRIu64 " kB\nVmLib:\t       2 kB\n"
                      "VmPTE:\t%8" PRIu64 " kB\nVmSwap:\t%8" PRIu64 " kB\n",
                      numbers->anonymous, numbers->shared, numbers->tables, numbers->swapped) == 0);
}

static void check_status(const struct numbers *numbers, const char *text)
{
    struct proc_usage_sample count = {0};
    FUZZ_CHECK(proc_usage_parse_status(text, &count));
    FUZZ_CHECK(count.resident_bytes ==
               (numbers->anonymous + numbers->shared + numbers->tables + numbers->swapped) * 1024);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *whole = fuzz_rest(&input);
    struct proc_usage_sample count = {0};
    char *arguments = NULL;
    size_t length = 0;
    proc_usage_parse_stat(whole, &count);
    proc_usage_parse_status(whole, &count);
    proc_file_parse_command_line(whole, &arguments, &length);

    input = (struct fuzz_input){data, size};
    struct numbers numbers = {
        .user = fuzz_number(&input) >> 32, /* four centuries */
        .system = fuzz_number(&input) >> 40,
        .children_user = fuzz_number(&input) >> 40,
        .children_system = fuzz_number(&input) >> 40,
        .threads = fuzz_number(&input),
        .start = fuzz_number(&input),
        .end = fuzz_number(&input),
        .anonymous = fuzz_number(&input) >> 12,
        .shared = fuzz_number(&input) >> 24,
        .tables = fuzz_number(&input) >> 24,
        .swapped = fuzz_number(&input) >> 24,
    };
    if (input.size > NAME_BYTES_MAX)
        input.size = NAME_BYTES_MAX;
    OWNED_MEMORY char *name = fuzz_rest(&input);
    char line[1024];
    write_stat(&numbers, name, line, sizeof(line));
    check_stat(&numbers, line);
    OWNED(buffer_release) struct buffer status = BUFFER(4096);
    write_status(&numbers, name, &status);
    check_status(&numbers, buffer_string(&status));
    return 0;
}
