#include "mcp/command.h"
#include "mcp/log.h"

#include <stdio.h>

void command_print_version(void)
{
    puts("code-sandbox-mcp " PROJECT_VERSION);
}

void command_print_help(const struct command *command)
{
    printf("Usage: code-sandbox-mcp %s\n\n%s", command->usage, command->help);
    if (command->options == NULL)
        return;
    putchar('\n');
    options_print(command->options, stdout);
}

int command_refuse(const struct command *command, const struct fault *fault)
{
    log_note("%s", fault->text);
    fprintf(stderr, "Usage: code-sandbox-mcp %s\n", command->usage);
    return EXIT_USAGE;
}

int command_read_options(const struct command *command, int argc, char **argv, void *data,
                         int *ret_operands, int *ret_status)
{
    struct fault fault = {0};
    int r = options_read(command->options, argc, argv, data, ret_operands, &fault);
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
