/*
 * Folders of the host for snippets: opened and checked once, when the program starts, and the same for
 * all its runs.
 *
 * Side: parent.  Source: openat2(2).
 */
#ifndef SANDBOX_JAIL_FOLDERS_FOLDER_H
#define SANDBOX_JAIL_FOLDERS_FOLDER_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/folder_mode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct folder {
    char *path; /* owned; on the host: absolute, without links, "." or ".."; any bytes but NUL */
    char *place; /* owned; in the jail: absolute, without "." or ".." */
    bool place_is_given; /* by the operator; else it is the path */
    enum folder_mode mode;
    int fd; /* owned; O_PATH: holds the inode, so that its number stays its own */
    uint64_t device, inode;
};

struct folders {
    struct folder *list; /* owned */
    size_t count; /* <= FOLDERS_MAX */
    char **own; /* owned, each; files of the program, which may have other names in a folder */
    size_t own_count;
};

void folders_release(struct folders *folders);

/* Adds a path to `own`, whether or not there is a file now. 0 or -ENOMEM. */
int folders_add_own(struct folders *folders, const char *path);

/* "ro", "overlay", "rw". */
const char *folder_mode_name(enum folder_mode mode);

/*
 * Opens a folder of the host by a path that may have links; sets path, fd, device and inode. 0, or a
 * negative errno with its fault: -ENOTDIR for a file.
 */
int folder_open(const char *path, struct folder *folder, struct fault *fault);

/*
 * Checks that folder->place can be mounted in a jail: it is absolute and normal, and neither covers
 * nor is part of what a jail consists of. 0, or -EINVAL with a fault that names the remedy.
 */
int folder_check_place(const struct folder *folder, struct fault *fault);

/*
 * Checks that snippets may be given the folder to write to: what other programs take commands from is not
 * all of it. 0, or -EPERM with a fault.
 */
int folder_check_writable(const struct folder *folder, struct fault *fault);

/* Whether the place is in a writable directory of the jail. */
bool folder_is_in_scratch(const char *place);

/* Whether one of them is of that mode. */
bool folders_have(const struct folders *folders, enum folder_mode mode);

#endif
