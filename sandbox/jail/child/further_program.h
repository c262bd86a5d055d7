/*
 * Programs of a session beside its first: what init starts them from comes with a word of the parent, as sealed memory.
 *
 * Side: child.  Source: clone(2), execvp(3).
 */
#ifndef SANDBOX_JAIL_CHILD_FURTHER_PROGRAM_H
#define SANDBOX_JAIL_CHILD_FURTHER_PROGRAM_H

#include "sandbox/jail/child/steps.h"

/* A word is the offset of a string in it, or 0. */
struct program_text {
    uint64_t
        is_whole; /* its variables are all; else those of the plan with other names are added; a name alone leaves out the plan's */
    uint64_t word_count;
    uint64_t words
        []; /* the directory (0: the work directory), where a program without a slash is searched for,
               whose argv[0] that tells then (0: in PATH), argv, 0, variables, 0 */
};

/* The descriptors are the caller's; the program gets the streams as 0, 1 ... */
struct further_program {
    int text_fd;
    const int *streams;
    size_t count; /* <= PROGRAM_FD_MAX + 1 */
};

/* The memory that came with a word, and its size: for munmap(2). 0 or a negative errno. */
int further_program_map(int fd, void **ret_text, size_t *ret_size);

/* Its pid, or a negative errno and jail_note(). */
int further_program_start(struct jail *jail, const struct further_program *start);

#endif
