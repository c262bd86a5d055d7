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
    const char *value; /* what the help calls its value: "SECONDS"; NULL: it takes none */
    const char *help;  /* lines for people, broken by '\n' */
    /* Takes the value (NULL when there is none; borrowed from argv). 0, or -EINVAL with a fault. */
    int (*apply)(void *data, const struct option *option, const char *value, struct fault *fault);
    const struct setting *setting; /* of the server that it sets, or NULL */
    size_t offset; /* in the data, for the functions below */
};

/* For apply: keep the value as a const char *, or set a bool, at the offset in the data. */
int option_keep_text(void *data, const struct option *option, const char *value,
                     struct fault *fault);
int option_set_flag(void *data, const struct option *option, const char *value,
                    struct fault *fault);

/* Options, the last with a NULL name, and what their apply gets as data. */
struct option_table {
    const struct option *options;
    void *data;
};

enum options_outcome {
    OPTIONS_HELP = 1, /* --help or -h was there: print help and exit 0 */
    OPTIONS_VERSION, /* --version */
};

/*
 * Reads argv[0..argc-1], which are all arguments (no program name): `--name value`, `--name=value`,
 * `--` ends the options, `-` is no option. The last of `tables` has no options. What is no option is
 * moved to the front of argv, in order, and *ret_operands says how many.
 * 0; positive as above; -EINVAL with a fault that names the argument and, if one is near, the
 * option that may have been meant.
 */
int options_read(const struct option_table *tables, int argc, char **argv, int *ret_operands,
                 struct fault *fault);

/* Prints a table of options. */
void options_print(const struct option *options, FILE *stream);

/* Prints --help and --version, which every command has. */
void options_print_common(FILE *stream);

#endif
