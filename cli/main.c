/*
 * code-sandbox-mcp: runs snippets for agents, each in its own jail. This file finds the command;
 * command_serve.c is what a client starts.
 */
#include "cli/command.h"
#include "interpreter/base/log.h"
#include "interpreter/languages/language.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"
#include "sandbox/jail/rlimits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMAND(name) &command_##name,
static const struct command *const commands[] = {COMMANDS};
#undef COMMAND

/* Between the text of the server's help and its options. */
static void print_commands(void)
{
    puts("\nCommands (each has --help):");
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
        printf("  %-10s%s\n", commands[i]->name, commands[i]->summary);
    puts("\nExamples:\n"
         "  code-sandbox-mcp fetch agent              fetch what snippets run on, once\n"
         "  code-sandbox-mcp setup                    see how to add the server to your clients\n"
         "  code-sandbox-mcp run program.py           run a program in a sandbox\n"
         "  code-sandbox-mcp run --language python -c 'print(1)'");
}

static void print_overview(void)
{
    command_print_help_with(&command_serve, print_commands);
}

/* A person who typed the name of the program would wait for a prompt that never comes. */
static int explain_program(void)
{
    fputs(
        "code-sandbox-mcp runs code of agents in sandboxes. MCP clients start it with their messages on\n"
        "stdin; nothing is served at a terminal. Try:\n"
        "  code-sandbox-mcp setup             fetch images, see how to add it to clients\n"
        "  code-sandbox-mcp run program.py    run a program in a sandbox\n"
        "  code-sandbox-mcp doctor            see whether everything is ready\n"
        "  code-sandbox-mcp --help            all commands and options\n"
        "  code-sandbox-mcp serve             serve at this terminal in spite of that\n",
        stderr);
    return EXIT_USAGE;
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
    spelling_offer(&spelling, "help");
    spelling_offer(&spelling, "version");
    if (spelling.nearest != NULL)
        log_note("unknown command \"%.*s\": did you mean %s?", length, name, spelling.nearest);
    else
        log_note("unknown command \"%.*s\": see --help", length, name);
    return EXIT_USAGE;
}

/* `help COMMAND` is `COMMAND --help`. */
static int help_on(const char *name)
{
    char option[] = "--help";
    char *arguments[] = {option, NULL};
    const struct command *command = find_command(name);
    return command != NULL ? command->run(command, 1, arguments) : refuse_command(name);
}

/*
 * Otherwise a later descriptor could become stdin, stdout or stderr. A closed stdout becomes one that
 * refuses all output: what is lost must not look like success.
 */
static bool ensure_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
            return false;
    return true;
}

/* stdio buffers output: a failed final write, as on a full disk, must not look like success. */
static int flush_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    log_note("writing to stdout failed");
    return EXIT_FAILED;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct fault fault = {0};
    if (languages_load(&fault) < 0)
        return command_refuse(command, &fault);
    return flush_output(command->run(command, argc, argv));
}

int main(int argc, char **argv)
{
    if (!ensure_standard_descriptors())
        return EXIT_FAILED;
    rlimits_raise();
    if (argc < 2)
        return isatty(STDIN_FILENO) == 1 ? explain_program() : run_command(&command_serve, 0, argv);
    bool asks_for_help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                         strcmp(argv[1], "help") == 0;
    if (asks_for_help && argc > 2 && strcmp(argv[1], "help") == 0)
        return flush_output(help_on(argv[2]));
    if (asks_for_help) {
        print_overview();
        return flush_output(EXIT_DONE);
    }
    if (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "-V") == 0) {
        command_print_version();
        return flush_output(EXIT_DONE);
    }
    if (argv[1][0] == '-')
        return run_command(&command_serve, argc - 1, argv + 1);
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return refuse_command(argv[1]);
    return run_command(command, argc - 2, argv + 2);
}
