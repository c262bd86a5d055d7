/*
 * What a run's Python does before the snippet: files in $HOME that remove themselves.
 *
 * Python executes the .pth files of the user's packages, $HOME/.local/lib/python3.N/site-packages, when
 * it starts. Ours take into memory what is needed and remove every trace: no file, path or variable is left for the
 * snippet to see. Python of other names than python3.N, and any before 3.8, starts as it is.
 *
 * A .pth file may execute code up to Python 3.17 (PEP 829).
 *
 * Side: parent.  Source: Python, documentation of the module site; images/runners/python.
 */
#ifndef MCP_TOOLS_PYTHON_START_H
#define MCP_TOOLS_PYTHON_START_H

#include "images/store/image.h"

#define PYTHON_START_FILES_MAX 4

/* The texts are owned. */
struct python_start {
    struct home_file files[PYTHON_START_FILES_MAX];
    size_t count;
    char *texts[2 * PYTHON_START_FILES_MAX];
    size_t text_count;
};

/* What is wanted of it. */
struct python_wishes {
    const char *modules; /* that prewarmed sandboxes import (preload_check()), or NULL */
    bool figures;        /* whether figures are handed over: as files of RUN_FIGURES_PATH */
    bool figures_cold;   /* whether also in a sandbox that is made for this program */
};

/* `program` is the language's. 0, or a negative errno with a fault; release in any case. */
int python_start_make(const struct image *image, const char *program,
                      const struct python_wishes *wishes, struct python_start *start,
                      struct fault *fault);
void python_start_release(struct python_start *start);

#endif
