/*
 * Confines this process, in two steps. Each is final.
 *
 * confine_reading(), before anything of a snippet is read: no new privileges, no capability but those
 * to read, limits on memory, processor time and file sizes; of all files only those below two
 * directories may be opened, for reading (Landlock, where the kernel has it); a system call filter.
 *
 * confine_comparing(), before libgit2 sees a byte: no file can be opened any more at all.
 *
 * Side: code-sandbox-mcp-changes.  Source: seccomp(2), landlock(7), setrlimit(2), capabilities(7).
 */
#ifndef INTERPRETER_CHANGES_CHANGES_CONFINE_H
#define INTERPRETER_CHANGES_CHANGES_CONFINE_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/filter.h"

struct confinement {
    struct filter reading, comparing; /* owned */
};

/* Compiles the filters. 0 or a negative errno with a fault, as the others. */
int confine_prepare(struct confinement *confinement, struct fault *fault);
void confine_release(struct confinement *confinement);

int confine_reading(const struct confinement *confinement, const int directory_fds[2],
                    struct fault *fault);
int confine_comparing(const struct confinement *confinement, struct fault *fault);

#endif
