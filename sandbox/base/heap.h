/*
 * What becomes of free memory: glibc keeps it. Other libraries return large blocks by themselves, so with
 * them (heap_none.c) there is nothing to do.
 *
 * Side: parent.  Source: mallopt(3), malloc_trim(3).
 */
#ifndef SANDBOX_BASE_HEAP_H
#define SANDBOX_BASE_HEAP_H

#include <stddef.h>

/*
 * Returns blocks of this size and more to the system as soon as they are freed. Once set, the threshold
 * stays: malloc would otherwise raise it after one large block and keep that much memory for good.
 */
void heap_return_blocks_of(size_t size);

/* Returns what is free now. */
void heap_trim(void);

#endif
