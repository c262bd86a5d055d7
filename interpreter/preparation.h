/*
 * From a snippet to what the engine needs of it: its image, arguments, variables and files.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_PREPARATION_H
#define INTERPRETER_PREPARATION_H

#include "images/store/image_use.h"
#include "interpreter/certificates.h"
#include "interpreter/settings/settings.h"
#include "interpreter/snippet.h"

/* Certificates, and those of the interpreter, or of a session in it. */
#define START_FILES_MAX (2 + START_CALL_FILES + PROGRAM_START_FILES_MAX)
#define ARGV_MAX (LANGUAGE_WORDS_MAX + 1) /* of a language, with its NULL */

/* What all runs are prepared with. */
struct preparer {
    const struct settings *settings; /* borrowed */
    bool has_templates; /* many snippets may come: engine_options.templates, if wanted */
    struct used_images used;         /* by runs that go on */
    struct certificates certificates[LANGUAGES_MAX]; /* owned; of the image each was last run on */
};

/* What a run_spec borrows until it is submitted. */
struct preparation {
    struct used_image *held; /* owned, until the run has taken it over; NULL: a session holds it */
    struct used_image *used; /* borrowed */
    const char **environment;
    char *start_variables[2]; /* owned */
    struct home_file files[START_FILES_MAX];
    struct run_template template;
    /* Where the program starts elsewhere than beside its code: */
    char *program; /* owned; the path of the code */
    char *
        module_path; /* owned; NAME=VALUE, if modules are looked for only beside the code; or NULL */
    const char *argv[ARGV_MAX];
    /* Of a language that is data: its words with the values of their placeholders. */
    char *filled[2 * LANGUAGE_WORDS_MAX + 1]; /* owned */
    size_t filled_count;
    const char *variables[ARGV_MAX]; /* those of its language */
    char *code_name; /* owned; or NULL: as its language says */
    const struct run_input
        *inputs; /* owned; those that are not part of the compiled program; or NULL */
};

/* Opens an image of that name for use. As image_use(). */
int preparation_open_image(struct preparer *preparer, const char *name,
                           struct used_image **ret_used, struct fault *fault);

/*
 * Opens the image, unless there is one, and fills in what a run needs. To be released in either case. 0, or a negative errno
 * with its fault.
 */
int preparation_make(struct preparer *preparer, const struct snippet *snippet,
                     struct preparation *preparation, struct run_spec *ret_spec,
                     struct fault *fault);

/* Whether an interpreter that waits for this program does what one does that finds all of it. */
bool preparation_may_be_warm(const struct snippet *snippet);

void preparation_release(struct preparation *preparation);

#endif
