/*
 * Command line options, read from one table that also prints the help.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_OPTIONS_H
#define SANDBOX_BASE_OPTIONS_H

#include "sandbox/base/fault.h"

#include <stdio.h>

struct setting;

struct option {
    const char *name;  /* "--timeout" */
    const char *value; /* name of the value in the help: "SECONDS"; NULL: takes none */
    const char *help;  /* lines separated by '\n'; NULL: write_help writes them */
    /* Processes the value (borrowed from argv; NULL if none). 0, or -EINVAL with a fault. */
    int (*apply)(void *data, const struct option *option, const char *value, struct fault *fault);
    const struct setting *setting; /* the server setting it sets, or NULL */
    size_t offset; /* into the data, for the functions below */
    /* "-c", which the help does not list, or NULL. As in shells, its value is the last: operands follow. */
    const char *short_name;
    void (*write_help)(const struct option *option, char *text, size_t size);
};

/* Values for apply: store the text as a const char *, or set a bool, at the offset in the data. */
int option_keep_text(void *data, const struct option *option, const char *value,
                     struct fault *fault);
int option_set_flag(void *data, const struct option *option, const char *value,
                    struct fault *fault);

/*
 * Options, terminated by a NULL name, and the data passed to their apply. `elsewhere` names the command
 * that has them, if this one does not: for the words of the refusal.
 */
struct option_table {
    const struct option *options;
    void *data;
    const char *elsewhere;
};

enum options_outcome {
    OPTIONS_HELP = 1, /* --help or -h was given: print help and exit 0 */
    OPTIONS_VERSION, /* --version */
};

/*
 * Reads argv[0..argc-1], without a program name: `--name value`, `--name=value`; `--` ends the
 * options; `-` is an operand. A table without options terminates `tables`. Operands are moved to
 * the front of argv, in order, and counted in *ret_operands. 0; positive as above; -EINVAL with a
 * fault that names the argument and suggests a similar option, if there is one.
 */
int options_read(const struct option_table *tables, int argc, char **argv, int *ret_operands,
                 struct fault *fault);

/* The same, but the first operand ends the options, too: everything after it is an operand. */
int options_read_leading(const struct option_table *tables, int argc, char **argv,
                         int *ret_operands, struct fault *fault);

/* Prints a table of options. */
void options_print(const struct option *options, FILE *stream);

/* Prints words from `column` on, where the stream is, in lines of 80 columns, the last with its end. */
void options_print_words(const char *words, int column, FILE *stream);

/* Prints --help and --version, which every command has. */
void options_print_common(FILE *stream);

#endif
