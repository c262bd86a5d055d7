/*
 * The jails in which images are made: a function of ours that reads archives or arranges files, or a
 * program of the image that installs. Both may write to the root file system, as uid 0 of a user
 * namespace in which nothing else is mapped, with no capability.
 *
 * Side: parent, but image_jail_tell().
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

/* A record with a text. One of a body that failed has the step STEP_BODY. */
struct text_report {
    struct child_report report; /* REPORT_TOLD: `index` says what is told */
    int64_t number;
    char text[FAULT_TEXT_MAX]; /* sent up to its NUL */
};

/* A program of the image. */
struct image_program {
    const char *const *argv; /* argv[0] is a path, or looked up in ROOTFS_PROGRAM_DIRECTORIES */
    const char *const *environment; /* the whole environment, NULL-terminated */
};

/* What is done, and where; all of it is borrowed. */
struct image_jail {
    const char
        *root; /* host path of the root file system; with layers, of what they are relative to */
    const char
        *layers; /* NULL; or "userxattr,lowerdir=...,upperdir=...,workdir=...": an overlayfs */
    const struct image_program *program; /* or NULL: */
    /*
     * The function. Working directory and root are the root file system; `data` is a copy of ours. 0, or
     * a negative errno with a fault, which the parent gets.
     */
    int (*body)(void *data, struct fault *fault);
    void *data;
    const int *fds; /* those of our descriptors that the body has too, under the same numbers */
    size_t fd_count;
    const struct plan_shown *shown; /* to a program, read-only */
    size_t shown_count;
    struct buffer *output; /* what a program wrote to stdout is added here; or NULL */
    bool network; /* a program's: the host's */
};

struct image_plan {
    struct jail_plan jail;
    const struct image_jail *spec; /* borrowed */
    struct filter filter; /* owned, as the lists */
    struct plan_rlimit rlimits[PLAN_BASE_RLIMITS + 4];
    char **argv;
    char **programs;
};

/* 0, or a negative errno with a fault; image_plan_release() either way. */
int image_plan_build(const struct image_jail *spec, struct image_plan *ret_plan,
                     struct fault *fault);
void image_plan_release(struct image_plan *plan);

/* In a body: sends a message, REPORT_TOLD. A failure is ignored: the parent is gone then. */
void image_jail_tell(int what, int64_t number, const char *text);

#endif
