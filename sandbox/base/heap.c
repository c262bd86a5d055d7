#include "sandbox/base/heap.h"

#include <malloc.h>

void heap_return_blocks_of(size_t size)
{
    mallopt(M_MMAP_THRESHOLD, (int)size);
}

void heap_trim(void)
{
    malloc_trim(0);
}
