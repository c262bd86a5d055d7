/*
 * Languages as data: a file NAME.json each, of images/languages, or of the person's own configuration, in
 * $XDG_CONFIG_HOME/code-sandbox-mcp/languages. docs/languages.md has the members.
 *
 * Side: parent; linked by both programs.
 */
#ifndef IMAGES_STORE_LANGUAGE_FILE_H
#define IMAGES_STORE_LANGUAGE_FILE_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANGUAGE_FILES_MAX 48
#define LANGUAGE_FILE_BYTES_MAX 65536
#define LANGUAGE_WORDS_MAX 64 /* in a list */
#define LANGUAGE_COMPILE_SECONDS 30 /* unless the file says otherwise */
#define LANGUAGE_COMPILE_SECONDS_MAX 600

/* All texts are owned by the file, and without NUL; lists end with NULL. */
struct language_file {
    const char *origin; /* the path of a person's own; NULL: it is built in */
    const char *name; /* "ruby": a lower-case letter, then those, digits, "+" and "-" */
    const char *title; /* "Ruby" */
    const char *image;
    const char *file; /* "main.rb", or "{class}.java" */
    const char *const *aliases; /* further names; may be empty */
    const char *const *http_names; /* in /run_code, may be empty */
    const char *const *extensions; /* {".rb", NULL}; may be empty */
    const char *const
        *compile; /* {"gcc", "main.c", "-o", "main", NULL}; empty: it is not compiled */
    int64_t compile_seconds; /* how long that may take */
    const char *const *run; /* {"ruby", "main.rb", NULL} */
    const char *const *environment; /* {"GOPROXY=off", NULL}; may be empty */
    const char *const *packages; /* of Debian; empty: the image comes from elsewhere */
    const char *const
        *prepare; /* a command that finishes the image, run in it when it is made; may be empty */
    const char *reference; /* an image of a registry; or NULL */
    const char *hello, *prints; /* a program, and its output */
};

/*
 * Reads those that are built in, then the person's own, in the order of their names. One of the person's with the name of one
 * that is built in takes its place. Once, before there are threads; what is read stays. 0, or a negative errno with a fault
 * that names file and key.
 */
int language_files_load(struct fault *fault);

/* The one file at that path, as if it were a person's own, beside those that are loaded; `check` has the last word. As above. */
int language_file_try(const char *path,
                      int (*check)(const struct language_file *file, struct fault *fault),
                      struct fault *fault);

/* By its name, or an alias. */
bool language_file_is_called(const struct language_file *file, const char *name);

/* NULL-terminated. */
const struct language_file *const *language_files(void);

#endif
