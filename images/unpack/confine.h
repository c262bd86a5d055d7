/*
 * Confined children: all that touches the bytes of an archive or the files of an image.
 *
 * A confined child is a fork of ours in new user, mount, pid, IPC, UTS and (unless told) network
 * namespaces, whose root is the root file system that is being made. So the kernel keeps every
 * path, symbolic link and ".." inside; and the child has no capability, cannot gain one, and has no
 * descriptor but those it was given. Our own uid is mapped to 0 there: nothing else is. One that
 * runs no programs of the image has a system call filter besides (confine_filter.h).
 *
 * Side: parent; `body` runs in the child.  Source: user_namespaces(7), pivot_root(2).
 */
#ifndef IMAGES_UNPACK_CONFINE_H
#define IMAGES_UNPACK_CONFINE_H

#include "images/base/subprocess.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the descriptors of confined_spec.fds are in the child, the first of them. */
#define CONFINED_REPORT_FD 3
#define CONFINED_FIRST_FD 4

/* A file or directory of the host to be seen, read-only, in the image; its place is made there. */
struct confined_file {
    const char *host_path;
    const char *image_path;
};

#define CONFINED_FILES_MAX 32

/*
 * Layers as one root file system: an overlayfs, mounted on confined.root. Its options name
 * directories relative to `directory`. Source: the kernel's filesystems/overlayfs.rst.
 */
struct confined_overlay {
    const char *directory;
    const char *options; /* "userxattr,lowerdir=...,upperdir=...,workdir=..." */
};

struct confined {
    const char *root; /* host path of the root file system */
    const struct confined_overlay *overlay;  /* or NULL */
    /*
     * What to do there. Working directory and root are `root`; `data` is a copy of ours. 0, or a
     * negative errno with a fault, both of which reach the parent.
     */
    int (*body)(void *data, struct fault *fault);
    void *data;
    const int *fds; /* borrowed: given to the child as CONFINED_FIRST_FD and up */
    size_t fd_count;
    const struct confined_file *files;
    size_t file_count;
    struct buffer *output; /* owned by the caller: what a program wrote to stdout; or NULL */
    bool
        programs; /* for programs of the image: /proc, /dev, /tmp, /dev/shm, and the build filter */
    bool network; /* the host's network */
};

/* Starts one; subprocess_wait_all() tells its end. 0 or a negative errno. */
int confined_start(const struct confined *confined, struct subprocess *child, struct fault *fault);

/* After subprocess_wait_all(): a child that ended badly without a word is a fault too. */
int confined_check(const struct subprocess *child, struct fault *fault);

/* Starts one and waits for its end, which is checked. */
int confined_run(const struct confined *confined, const struct subprocess_observer *observer,
                 struct fault *fault);

/* Whether this host lets us confine a child: known before anything is downloaded. 0 or a fault. */
int confined_probe(const char *root, struct fault *fault);

/* A program of the image. */
struct image_program {
    const char *const *argv; /* argv[0] is a path, or looked up in PATH of environment */
    const char *const *environment; /* the whole environment, NULL-terminated */
};

/*
 * Runs a program of the image, confined, to its end; body and data of `confined` are not used. 0;
 * 1 when the image has no such program; -EPROTO with its last words when it fails; -EINTR; or
 * another negative errno.
 */
int confined_program(const struct confined *confined, const struct image_program *program,
                     const struct subprocess_observer *observer, struct fault *fault);

#endif
