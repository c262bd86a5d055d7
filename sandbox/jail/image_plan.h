/*
 * The jails in which images are made. One kind performs a function of ours that reads archives or
 * arranges files, the other runs a program of the image as an installer. Both may write to the root
 * file system, as uid 0 of a user namespace with no other mapped id, without capabilities.
 *
 * Side: parent, except image_jail_tell().
 */
#ifndef SANDBOX_JAIL_IMAGE_PLAN_H
#define SANDBOX_JAIL_IMAGE_PLAN_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/filter.h"
#include "sandbox/jail/plan_base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A record with a text. For a failed body, its step is STEP_BODY. */
struct text_report {
    struct child_report report; /* REPORT_TOLD: `index` is the kind of message */
    int64_t number;
    char text[FAULT_TEXT_MAX]; /* sent up to its NUL */
};

/* A program of the image. */
struct image_program {
    const char *const *argv; /* argv[0] is a path, or looked up in ROOTFS_PROGRAM_DIRECTORIES */
    const char *const *environment; /* the whole environment, NULL-terminated */
};

/* The work and its place; everything is borrowed. */
struct image_jail {
    const char *root; /* host path of the root file system, or the directory of the layers */
    const char
        *layers; /* NULL; or "userxattr,lowerdir=...,upperdir=...,workdir=...": an overlayfs */
    const struct image_program *program; /* or NULL: */
    /*
     * The function. Its working directory and root are the root file system; it sees the child's
     * copy of `data`. 0, or a negative errno with a fault, which is sent to the parent.
     */
    int (*body)(void *data, struct fault *fault);
    void *data;
    const int *fds; /* our descriptors that the body may use, under the same numbers */
    size_t fd_count;
    const struct plan_shown *shown; /* shown to a program, read-only */
    size_t shown_count;
    struct buffer *output; /* receives a program's stdout; or NULL */
    bool network; /* a program uses the host's network */
};

struct image_plan {
    struct jail_plan jail;
    const struct image_jail *spec; /* borrowed */
    struct filter filter; /* owned, like the lists */
    struct filter_additions additions;
    struct plan_rlimit rlimits[PLAN_BASE_RLIMITS + 5];
    char **argv;
    char **programs;
};

/*
 * The variable that allows jails of a weaker tier for making images: "P", for root "C", for others "L", set by code-sandbox-mcp for the
 * program of images where the operator has allowed that tier and the host allows no stronger one.
 */
#define IMAGE_TIER_VARIABLE "CODE_SANDBOX_IMAGE_TIER"

/* Whether programs can be shown directories of the host, large ones too: by mounts, which tiers C and L have not. */
bool image_plan_has_mounts(void);

/* 0 if programs of images can be run; or -EOPNOTSUPP with a fault: in tier L, which has no root of its own. */
int image_plan_check_programs(struct fault *fault);

/*
 * In tier C, the caller gives the plan of a program its root (sandbox/roots/install_root.h). 0, or a negative errno with a
 * fault; image_plan_release() either way.
 */
int image_plan_build(const struct image_jail *spec, struct image_plan *ret_plan,
                     struct fault *fault);
void image_plan_release(struct image_plan *plan);

/*
 * Sends a message from a body (REPORT_TOLD). A failure is ignored: it means that the parent is
 * gone.
 */
void image_jail_tell(int what, int64_t number, const char *text);

#endif
