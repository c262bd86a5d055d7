/*
 * The commands of the program, one file each.
 *
 * Side: parent.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "sandbox/base/options.h"

#include <stdbool.h>

/* Exit statuses of our own; `run` otherwise ends as its snippet did. */
enum exit_status {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,        /* the command line was wrong */
    EXIT_RUN_FAILED = 125, /* `run`: the sandbox could not run the snippet */
};

struct command {
    const char *name;
    const char *usage;   /* what follows the program's name */
    const char *summary; /* one line */
    const char *help;    /* what it does, for --help; ends with a newline */
    /* That --help lists, table by table, the last one NULL; NULL when another program has them. */
    const struct option *const *options;
    bool passes_arguments; /* options come before the first operand; the rest is a program's */
    /* argv are the arguments behind the command's name. Returns the exit status. */
    int (*run)(const struct command *command, int argc, char **argv);
};

/* The build's list of names: COMMANDS is COMMAND(serve) COMMAND(setup) ... */
#define COMMAND(name) extern const struct command command_##name;
COMMANDS
#undef COMMAND

/*
 * Reads the options of a command; data[i] is for command->options[i]. 0: go on with *ret_operands
 * arguments; else the command is done, help or a fault has been printed, and *ret_status is to be
 * returned.
 */
int command_read_options(const struct command *command, int argc, char **argv, void *const *data,
                         int *ret_operands, int *ret_status);

/* Prints the help of one command on stdout. */
void command_print_help(const struct command *command);
/* The same, with what `print` prints before the options. */
void command_print_help_with(const struct command *command, void (*print)(void));
void command_print_version(void);

/*
 * How many bytes of an unexpected argument a message may show: a forgotten option leaves NAME=VALUE as
 * one, and the value may be a secret.
 */
int command_shown_length(const char *argument);

/* Prints a fault of the command line on stderr and returns EXIT_USAGE. */
int command_refuse(const struct command *command, const struct fault *fault);

#endif
