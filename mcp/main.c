/*
 * code-sandbox-mcp: runs snippets for agents, each in its own jail. This file finds the command;
 * command_serve.c is what a client starts.
 */
#include "mcp/base/log.h"
#include "mcp/cli/command.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
    &command_serve,   &command_setup,    &command_run,    &command_batch,
    &command_worker,  &command_fetch,    &command_images, &command_doctor,
    &command_network, &command_settings, &command_check,
};

static void print_overview(void)
{
    command_print_help(&command_serve);
    puts("\nCommands (each has --help):");
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
        printf("  %-10s%s\n", commands[i]->name, commands[i]->summary);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int refuse_command(const char *name)
{
    struct spelling spelling = spelling_of(name);
    int length = command_shown_length(name);
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
        spelling_offer(&spelling, commands[i]->name);
    if (spelling.nearest != NULL)
        log_note("unknown command \"%.*s\": did you mean %s?", length, name, spelling.nearest);
    else
        log_note("unknown command \"%.*s\": see --help", length, name);
    return EXIT_USAGE;
}

/* Otherwise a later descriptor could become stdin, stdout or stderr. */
static bool ensure_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    fd_close(&fd);
    return fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

/* stdio buffers output: a failed final write, as on a full disk, must not look like success. */
static int flush_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    log_note("writing to stdout failed");
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    if (!ensure_standard_descriptors())
        return EXIT_FAILED;
    if (argc < 2)
        return command_serve.run(&command_serve, 0, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_overview();
        return flush_output(EXIT_DONE);
    }
    if (argv[1][0] == '-')
        return flush_output(command_serve.run(&command_serve, argc - 1, argv + 1));
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return refuse_command(argv[1]);
    return flush_output(command->run(command, argc - 2, argv + 2));
}
