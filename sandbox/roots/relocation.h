/*
 * A plan whose paths are below a directory of the host, for a jail that has no root of its own: the program, started through
 * the image's own dynamic loader with the image's libraries; its directories; its variables; and the paths that Landlock
 * leaves to it.
 *
 * Side: parent.  Source: ld.so(8), elf(5), landlock(7).
 */
#ifndef SANDBOX_ROOTS_RELOCATION_H
#define SANDBOX_ROOTS_RELOCATION_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/text_list.h"

#define RELOCATION_RIGHTS_MAX 40
#define RELOCATION_RLIMITS_MAX 16

struct relocation {
    struct text_list texts; /* all strings of the others */
    char **argv;            /* owned arrays */
    char **environment;
    char *programs[2];
    struct plan_path_rights rights[RELOCATION_RIGHTS_MAX];
    struct plan_rlimit rlimits[RELOCATION_RLIMITS_MAX];
};

/*
 * Puts the directories, variables and rights of the plan below `root`, an absolute path of a tree of its image (chroot_tree.h);
 * relocation_start() does the same with the program. The plan borrows from the relocation. 0, or a negative errno with a
 * fault; either way release it after the plan's last use.
 */
int relocation_place(struct relocation *relocation, const char *root, struct jail_plan *plan,
                     struct fault *fault);
int relocation_start(struct relocation *relocation, const char *root, struct jail_plan *plan,
                     struct fault *fault);
void relocation_release(struct relocation *relocation);

/* The path of the dynamic loader that a program names; "" for a static one. For tests. 0; -ENOEXEC: no program for this machine; or another negative errno. */
int relocation_read_loader(int fd, char *ret_path, size_t size);

#endif
