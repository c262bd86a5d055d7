/*
 * The variables that the operator gives to snippets: --pass-through-env, --env-file, --env.
 *
 * A value may be a secret. It goes into runs and nowhere else: no fault and no note shows one, nor any
 * text that may be one in the wrong place.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_ENVIRONMENT_H
#define INTERPRETER_SETTINGS_ENVIRONMENT_H

#include "interpreter/languages/language.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a variable comes from. A later source overrides an earlier one. */
enum environment_source {
    ENVIRONMENT_PASSED, /* --pass-through-env */
    ENVIRONMENT_FILE,   /* --env-file */
    ENVIRONMENT_SET,    /* --env */
    ENVIRONMENT_SOURCE_COUNT,
};

struct variable {
    char *text;         /* owned: NAME=VALUE; NAME alone if our environment lacks it */
    size_t name_length; /* of the NAME in it */
    enum environment_source source;
    const struct language *language; /* NULL: each of them */
};

struct environment {
    struct variable *variables; /* owned; of a source, language and name there is one */
    size_t count;
    size_t bytes;         /* of all texts */
    /* Where --env or its key was met: it may show values to other users. */
    bool is_on_command_line, is_in_configuration;
};

void environment_release(struct environment *environment);

/* The source's option without its dashes: "env-file". */
const char *environment_source_name(enum environment_source source);

/*
 * Sets a variable from NAME=VALUE or LANGUAGE:NAME=VALUE of `length` bytes; it replaces one of the
 * same source, language and name. `what` names the text in a fault: "--env".
 * 0; -EINVAL with a fault, also if programs cannot get a value that long or the sum is over its
 * bounds; -ENOMEM with a fault.
 */
int environment_set(struct environment *environment, enum environment_source source,
                    const char *what, const char *text, size_t length, struct fault *fault);

/*
 * Passes a variable of our own environment on, with the value that it has now. If there is none, the
 * name alone is kept for environment_note_missing(). 0; -EINVAL with a fault if `name` is no name or
 * there are too many; -ENOMEM with a fault.
 */
int environment_pass(struct environment *environment, const char *name, size_t length,
                     struct fault *fault);

/*
 * Sets the variables of an environment file: one NAME=VALUE or LANGUAGE:NAME=VALUE on each line, with
 * the value taken literally up to the line's end, LF or CRLF; blank lines and lines beginning with #
 * are skipped, and so is a byte order mark. `what` names the setting in a fault.
 *
 * The file must be a regular one of this user or root, at most ENVIRONMENT_FILE_MAX bytes, and nobody
 * else may have any right to it. 0; a negative errno with a fault that names file, line and remedy.
 */
int environment_read_file(struct environment *environment, const char *what, const char *path,
                          struct fault *fault);

/* The same from the bytes of a file, which `path` names in a fault. */
int environment_read_text(struct environment *environment, const char *path, const char *text,
                          size_t length, struct fault *fault);

/*
 * Writes the NAME=VALUE texts for a program of the language (NULL: of none) to `ret_texts`, which has room for
 * environment->count; where two have the same name, the later one counts. A variable of one language
 * comes after those of the same source that are for each. Returns their number; all borrowed.
 */
size_t environment_for(const struct environment *environment, const struct language *language,
                       const char **ret_texts);

/* Notes on stderr each name that was to be passed through and has no value from any source. */
void environment_note_missing(const struct environment *environment);

#endif
