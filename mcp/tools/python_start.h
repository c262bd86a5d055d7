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
#ifndef MCP_TOOLS_PYTHON_START_H
#define MCP_TOOLS_PYTHON_START_H

#include "images/store/image.h"

#define PYTHON_START_FILES_MAX 2

/* The texts are owned. */
struct python_start {
    struct home_file files[PYTHON_START_FILES_MAX];
    size_t count;
    char *texts[2 * PYTHON_START_FILES_MAX + 1];
    size_t text_count;
};

/* What is wanted of it. */
struct python_wishes {
    const char *modules; /* that prewarmed sandboxes import (preload_check()), or NULL */
    bool figures;        /* whether figures are handed over: as files of RUN_FIGURES_PATH */
    bool figures_cold;   /* whether also in a sandbox that is made for this program */
    const char *const *environment; /* of the run, NULL-terminated; the last of a name counts */
    uint64_t space_warm; /* that the files may take in a prewarmed sandbox */
    uint64_t space_cold; /* beside the code and the input files */
};

/* `program` is the language's. 0, or a negative errno with a fault; release in any case. */
int python_start_make(const struct image *image, const char *program,
                      const struct python_wishes *wishes, struct python_start *start,
                      struct fault *fault);
void python_start_release(struct python_start *start);

#endif
