#include "cli/command.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/setting_table.h"
#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TABLES_MAX 8 /* of options, for one command, and those of the server that it lacks */
#define SHOWN_MAX_BYTES 60

void command_print_version(void)
{
    puts("code-sandbox-mcp " PROJECT_VERSION);
}

void command_print_help(const struct command *command)
{
    command_print_help_with(command, NULL);
}

void command_print_help_with(const struct command *command, void (*print)(void))
{
    printf("Usage: code-sandbox-mcp %s\n\n%s", command->usage, command->help);
    if (print != NULL)
        print();
    if (command->options == NULL)
        return;
    puts("\nOptions:");
    for (const struct option *const *options = command->options; *options != NULL; options++)
        options_print(*options, stdout);
    options_print_common(stdout);
}

int command_shown_length(const char *argument)
{
    size_t length = strcspn(argument, "=");
    return (int)(length < SHOWN_MAX_BYTES ? length : SHOWN_MAX_BYTES);
}

int command_refuse(const struct command *command, const struct fault *fault)
{
    log_note("%s", fault->text);
    fprintf(stderr, "Usage: code-sandbox-mcp %s\n", command->usage);
    return EXIT_USAGE;
}

static bool has_table(const struct option_table *tables, const struct option *options)
{
    for (; tables->options != NULL; tables++)
        if (tables->options == options)
            return true;
    return false;
}

int command_read_options(const struct command *command, int argc, char **argv, void *const *data,
                         int *ret_operands, int *ret_status)
{
    struct option_table tables[TABLES_MAX + 1] = {0};
    const struct option *const others[] = {SETTINGS_OF_ALL};
    size_t count = 0;
    for (; count < TABLES_MAX && command->options[count] != NULL; count++)
        tables[count] = (struct option_table){command->options[count], data[count], NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        if (count < TABLES_MAX && !has_table(tables, others[i]))
            tables[count++] = (struct option_table){others[i], NULL, "code-sandbox-mcp serve"};
    struct fault fault = {0};
    int r = command->passes_arguments
                ? options_read_leading(tables, argc, argv, ret_operands, &fault)
                : options_read(tables, argc, argv, ret_operands, &fault);
    if (r == 0)
        return 0;
    *ret_status = EXIT_DONE;
    if (r == OPTIONS_HELP)
        command_print_help(command);
    else if (r == OPTIONS_VERSION)
        command_print_version();
    else
        *ret_status = command_refuse(command, &fault);
    return 1;
}
