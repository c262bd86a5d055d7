/*
 * "Did you mean ...?": finds the known word nearest to a mistyped one.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_SPELLING_H
#define SANDBOX_BASE_SPELLING_H

#include <stddef.h>

/* A search for the nearest word; candidates are offered one by one. */
struct spelling {
    const char *word;    /* as typed; borrowed */
    const char *nearest; /* of the candidates so far, or NULL if none is near; borrowed */
    size_t distance;     /* of the nearest */
};

struct spelling spelling_of(const char *word);
void spelling_offer(struct spelling *spelling, const char *candidate);

#endif
