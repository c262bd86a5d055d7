/*
 * The folder of `run --workdir`: a mount like those of --mount, in which the program starts.
 *
 * Side: parent.
 */
#ifndef CLI_RUN_WORKDIR_H
#define CLI_RUN_WORKDIR_H

#include "interpreter/settings/settings.h"
#include "sandbox/base/options.h"

/* All zero: there is none. */
struct run_workdir {
    const char *said;      /* DIR[:MODE][@PATH], borrowed from argv */
    const char *directory; /* in the jail: borrowed from settings; NULL until run_workdir_find() */
    char *program; /* owned; the path there of the program's file; NULL: it is not below DIR */
};

/* Adds the folder to the mounts, before all others. 0, or a negative errno with its fault. */
int run_workdir_add(struct run_workdir *workdir, struct settings *settings, const char *value,
                    struct fault *fault);

/* Finds the places in the jail; `path` is of the program's file, or NULL. 0 or -ENOMEM with its fault. */
int run_workdir_find(struct run_workdir *workdir, const struct settings *settings, const char *path,
                     struct fault *fault);

void run_workdir_release(struct run_workdir *workdir);

#endif
