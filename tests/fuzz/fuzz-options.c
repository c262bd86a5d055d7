/*
 * A command line, one argument a line, and what becomes of it: settings within their ranges, or a
 * fault. What is no option stays, in order.
 */
#include "interpreter/settings/settings_read.h"
#include "sandbox/base/options.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/limits-check.h"

#include <string.h>

#define ARGUMENTS_READ_MAX 32

struct command_line {
    char *owned[ARGUMENTS_READ_MAX];
    char *argv[ARGUMENTS_READ_MAX]; /* the same, moved about */
    int count;
};

static void command_line_release(struct command_line *line)
{
    for (int i = 0; i < line->count; i++)
        free(line->owned[i]);
}

static struct command_line read_command_line(struct fuzz_input *input)
{
    struct command_line line = {0};
    char *argument;
    while (line.count < ARGUMENTS_READ_MAX && (argument = fuzz_line(input)) != NULL) {
        line.owned[line.count] = argument;
        line.argv[line.count++] = argument;
    }
    return line;
}

/* The operands stand at the front, in the order in which they were given. */
static void check_operands(const struct command_line *line, int operands)
{
    FUZZ_CHECK(operands >= 0 && operands <= line->count);
    int at = 0;
    for (int i = 0; i < operands; i++) {
        while (at < line->count && line->owned[at] != line->argv[i])
            at++;
        FUZZ_CHECK(at++ < line->count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED(command_line_release) struct command_line line = read_command_line(&input);
    OWNED(settings_release) struct settings settings = settings_default();
    const struct option_table tables[] = {{settings_of_runs, &settings},
                                          {settings_of_many, &settings},
                                          {settings_of_server, &settings},
                                          {0}};
    struct fault fault = {0};
    int operands = 0;
    int r = options_read(tables, line.count, line.argv, &operands, &fault);
    FUZZ_CHECK(r == OPTIONS_HELP || r == OPTIONS_VERSION || r == 0 || r == -EINVAL);
    FUZZ_CHECK((r < 0) == (fault.text[0] != '\0'));
    if (r != 0)
        return 0;
    check_operands(&line, operands);
    /* Whichever configuration was named: not one of this machine. */
    fuzz_file("{}", 2);
    free(settings.configuration);
    settings.configuration = strdup(fuzz_file_path());
    r = settings_read(&settings, &fault);
    fuzz_check_fault(r, &fault);
    limits_check(&settings);
    if (r < 0)
        return 0;
    FUZZ_CHECK(settings.wall_max_ms > 0 && !(settings.require_cgroup && settings.no_cgroup));
    r = settings_read_check_server(&settings, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r < 0 || settings.wall_max_ms >= settings.limits.wall_ms);
    return 0;
}
