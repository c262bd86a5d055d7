/*
 * "Did you mean ...?": the known word that is nearest to a mistyped one.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_SPELLING_H
#define SANDBOX_BASE_SPELLING_H

#include <stddef.h>

/* Looks for the nearest of the words that are offered, one by one. */
struct spelling {
    const char *word;    /* as it was typed; borrowed */
    const char *nearest; /* of the offered ones, or NULL while none is near; borrowed */
    size_t distance;     /* to it */
};

struct spelling spelling_of(const char *word);
void spelling_offer(struct spelling *spelling, const char *candidate);

#endif
