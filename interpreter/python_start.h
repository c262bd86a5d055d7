/*
 * What a run's Python does before the snippet: files in $HOME that remove themselves.
 *
 * When Python starts, it imports a module usercustomize of the user's packages, in
 * $HOME/.local/lib/python3.N/site-packages. Ours takes into memory what is needed and removes every trace: no file,
 * path, module or variable is left for the snippet to see. Python of other names than python3.N starts as
 * it is, and so does one that looks for no user's packages, or for which the files have no room.
 *
 * Side: parent.  Source: Python, documentation of the module site; images/runners/python.
 */
#ifndef INTERPRETER_PYTHON_START_H
#define INTERPRETER_PYTHON_START_H

#include "images/store/image.h"

#define PYTHON_START_FILES_MAX 2

/* The same for all runs of an image. The texts are owned. */
struct python_start {
    struct home_file files[PYTHON_START_FILES_MAX];
    size_t count;
    bool has_figures;
    struct run_template template; /* without files: this Python cannot be one */
    struct home_file template_files[PYTHON_START_FILES_MAX];
    char *texts[4 * PYTHON_START_FILES_MAX + 1];
    size_t text_count;
};

/* What is wanted of it. */
struct python_wishes {
    const char *modules; /* that prewarmed sandboxes import (preload_check()), or NULL */
    bool template;       /* whether forks of one interpreter are wanted */
    bool figures;        /* whether figures are handed over: as files of RUN_FIGURES_PATH */
    const char *const *environment; /* of the runs, NULL-terminated; the last of a name counts */
};

/* `program` is the language's. 0, or a negative errno with a fault; release in any case. */
int python_start_make(const struct image *image, const char *program,
                      const struct python_wishes *wishes, struct python_start *start,
                      struct fault *fault);
void python_start_release(struct python_start *start);

/* What a run leaves for the files. */
struct python_room {
    bool figures_cold; /* whether figures are also handed over by a sandbox made for this program */
    uint64_t space_warm; /* bytes of a prewarmed sandbox */
    uint64_t space_cold; /* bytes beside the code and the input files */
};

/*
 * The files for a run: none that have no room. Returns their number; what they point to stays the
 * start's.
 */
size_t python_start_fit(const struct python_start *start, const struct python_room *room,
                        struct home_file ret_files[static PYTHON_START_FILES_MAX]);

#endif
