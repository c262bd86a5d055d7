/*
 * What `run` tells of a file that the program missed, although it lies beside it on the host.
 *
 * Side: parent.  Names come from the snippet: untrusted. At worst a snippet has its user asked to show it a folder
 * in which the program lies.
 */
#ifndef CLI_NEIGHBOUR_HINT_H
#define CLI_NEIGHBOUR_HINT_H

#include "sandbox/base/buffer.h"
#include "sandbox/jail/folders/folder.h"
#include "sandbox/result.h"

#include <stdbool.h>

/* Where the program came from. All pointers are borrowed. */
struct neighbour_place {
    const char *script; /* its file; NULL: it has none */
    const char *home;   /* which no sandbox is shown whole, without links; NULL: there is none */
    bool may_mount; /* --workdir is possible */
    const struct folder *workdir; /* that it had; NULL: none */
};

/*
 * Appends a line with what makes the file readable, or the folder of --workdir writable, if that is what the program
 * failed for. 0, or a negative errno of buffer_append().
 */
int neighbour_hint_write(const struct run_result *result, const struct neighbour_place *place,
                         struct buffer *text);

#endif
