/*
 * A copy of a snippet, for its run after its compiler.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_KEPT_SNIPPET_H
#define INTERPRETER_KEPT_SNIPPET_H

#include "interpreter/snippet.h"

struct kept_snippet {
    struct snippet snippet; /* a descriptor as its stdin is still the caller's */
    char *texts; /* owned: everything of the snippet points into it, or into the next two */
    size_t size; /* of that */
    struct run_input *inputs; /* owned */
    const char **arguments; /* owned */
};

/* To be released in either case. 0 or -ENOMEM. */
int kept_snippet_make(const struct snippet *snippet, struct kept_snippet *ret_kept);
void kept_snippet_release(struct kept_snippet *kept);

#endif
