/*
 * A root file system with one program in it and nothing else, made for a benchmark.
 *
 * Side: parent.
 */
#ifndef TESTS_BENCH_BENCH_ROOTFS_H
#define TESTS_BENCH_BENCH_ROOTFS_H

#include "sandbox/base/fault.h"

#include <limits.h>

/* The file `name` seen from where this program is. 0, or a negative errno with its fault. */
int bench_find_beside(const char *name, char path[PATH_MAX], struct fault *fault);

/* Where the program is in it. */
#define BENCH_PROGRAM "/program"

/* That, and empty layers over it: paths in the directory above, for run_spec.layers. */
#define BENCH_LAYERS 20
extern const char *const bench_layers[BENCH_LAYERS + 2];

/*
 * Makes it in a new directory below $TMPDIR, else /tmp, with a copy of the file `program`. 0 and
 * its path, which ends with "/0", and which bench_rootfs_remove() removes; or a negative errno with its fault.
 */
int bench_rootfs_make(const char *program, char **ret_path, struct fault *fault);

/* Removes the directory and frees its path; empties *path. */
void bench_rootfs_remove(char **path);

#endif
