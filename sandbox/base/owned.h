/*
 * Ownership by scope: the declaring scope frees the objects it owns on every exit from the scope.
 *
 *     OWNED_FD int fd = open(...);
 *     OWNED(buffer_release) struct buffer text = BUFFER(MAX);
 *     *ret_fd = fd_take(&fd);               // explicit hand-over
 *
 * Side: both.  An empty descriptor is -1, an empty pointer NULL.
 */
#ifndef SANDBOX_BASE_OWNED_H
#define SANDBOX_BASE_OWNED_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define OWNED(release) __attribute__((cleanup(release)))

/*
 * Closes *fd unless it is -1, and sets it to -1. Preserves errno. Not retried on EINTR: close(2).
 */
static inline void fd_close(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;
        close(*fd);
        errno = saved;
    }
    *fd = -1;
}

/* Hands the descriptor over to the caller; *fd is empty afterwards. */
static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

static inline void memory_release(void *pointer)
{
    void **owned = pointer;
    free(*owned);
    *owned = NULL;
}

/* Hands the pointer over to the caller; *pointer is NULL afterwards. */
#define pointer_take(pointer)                                                                      \
    ({                                                                                             \
        __typeof__(*(pointer)) taken_ = *(pointer);                                                \
        *(pointer) = NULL;                                                                         \
        taken_;                                                                                    \
    })

#define OWNED_FD OWNED(fd_close)
#define OWNED_MEMORY OWNED(memory_release)

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The struct that embeds `member`, from a pointer to that member. */
#define container_of(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

#endif
