/*
 * Command line options, read from one table that also prints the help.
 *
 * Side: parent.
 */
#ifndef MCP_OPTIONS_H
#define MCP_OPTIONS_H

#include "sandbox/base/fault.h"

#include <stdio.h>

struct option {
    const char *name;  /* "--timeout" */
    const char *value; /* what the help calls its value: "SECONDS"; NULL: it takes none */
    const char *help;  /* lines for people, broken by '\n' */
    /* Takes the value (NULL when there is none; borrowed from argv). 0, or -EINVAL with a fault. */
    int (*apply)(void *data, const char *value, struct fault *fault);
};

enum options_outcome {
    OPTIONS_HELP = 1, /* --help or -h was there: print help and exit 0 */
    OPTIONS_VERSION, /* --version */
};

/*
 * Reads argv[0..argc-1], which are all arguments (no program name): `--name value`, `--name=value`,
 * `--` ends the options, `-` is no option. `options` ends with an entry whose name is NULL. What is
 * no option is moved to the front of argv, in order, and *ret_operands says how many.
 * 0; positive as above; -EINVAL with a fault that names the argument and, if one is near, the
 * option that may have been meant.
 */
int options_read(const struct option *options, int argc, char **argv, void *data, int *ret_operands,
                 struct fault *fault);

/* Prints the table of options, and --help and --version, which every command has. */
void options_print(const struct option *options, FILE *stream);

/* A whole number from `low` to `high`. 0, or -EINVAL with a fault that names `what`. */
int option_integer(const char *text, const char *what, long long low, long long high,
                   long long *ret_number, struct fault *fault);

/* Seconds, maybe with a fraction, as milliseconds, 1 to `high` ms. As option_integer. */
int option_seconds(const char *text, const char *what, long long high, long long *ret_milliseconds,
                   struct fault *fault);

#endif
