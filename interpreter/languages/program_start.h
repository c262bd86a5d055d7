/*
 * What the interpreter of a run does before the snippet: files in $HOME for it, and how it becomes a template.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_LANGUAGES_PROGRAM_START_H
#define INTERPRETER_LANGUAGES_PROGRAM_START_H

#include "images/store/image.h"

#define PROGRAM_START_FILES_MAX 2

/* The same for all runs of an image. The texts are owned. */
struct program_start {
    struct home_file files[PROGRAM_START_FILES_MAX];
    size_t count;
    bool has_figures;
    struct run_template template; /* without files: this interpreter cannot be one */
    struct home_file template_files[PROGRAM_START_FILES_MAX];
    char *texts[4 * PROGRAM_START_FILES_MAX + 1];
    size_t text_count;
};

/* What is wanted of it. */
struct start_wishes {
    const char *modules; /* that prewarmed sandboxes import (preload_check()), or NULL */
    bool template;       /* whether forks of one interpreter are wanted */
    bool figures;        /* whether figures are handed over: as files of RUN_FIGURES_PATH */
    const char *const *environment; /* of the runs, NULL-terminated; the last of a name counts */
};

/*
 * Makes it for a language's program in the image. 0, or a negative errno with a fault; release in any
 * case.
 */
typedef int program_start_make(const struct image *image, const char *program,
                               const struct start_wishes *wishes, struct program_start *start,
                               struct fault *fault);
void program_start_release(struct program_start *start);

/* What a run leaves for the files. */
struct start_room {
    bool figures_cold; /* whether figures are also handed over by a sandbox made for this program */
    uint64_t space_warm; /* bytes of a prewarmed sandbox */
    uint64_t space_cold; /* bytes beside the code and the input files */
};

/*
 * The files for a run: none that have no room. Returns their number; what they point to stays the
 * start's.
 */
size_t program_start_fit(const struct program_start *start, const struct start_room *room,
                         struct home_file ret_files[static PROGRAM_START_FILES_MAX]);

#endif
