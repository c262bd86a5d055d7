/*
 * The parts of a folder that need care.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_FOLDER_PARTS_H
#define SANDBOX_JAIL_FOLDERS_FOLDER_PARTS_H

#include "sandbox/jail/child/folder_mode.h"
#include "sandbox/jail/folders/part_trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct folder_part {
    char *path; /* owned; below the folder, no "." or ".."; "": the folder as a whole */
    size_t length; /* of the path */
    enum folder_care care;
    bool is_read; /* what is in it was looked at */
    uint64_t device, inode;
    struct timespec
        since; /* a file: its last change; a directory: when it was made, or 0: unknown */
    struct part_trace trace; /* of one that is told, and that the run can go on to change */
};

struct folder_scan {
    /* Owned; sorted, each path once: a directory comes before what is in it. Nothing but what is to be
     * hidden is in a protected one. */
    struct folder_part *list;
    size_t count; /* <= FOLDER_PARTS_MAX */
};

void folder_scan_release(struct folder_scan *scan);

/* Adds a part, unless it has that care already; since: as there. 0, 1: the scan is full; -ENOMEM. */
int folder_parts_add(struct folder_scan *scan, const char *path, const struct stat *about,
                     const struct timespec *since, enum folder_care care);

/* What is in this protected directory is being looked at. */
void folder_parts_set_read(struct folder_scan *scan, const char *path);

/* Whether the path is protected, or in a protected directory. */
bool folder_parts_cover(const struct folder_scan *scan, const char *path);

/* Sorts them as struct folder_scan says. */
void folder_parts_close(struct folder_scan *scan);

/*
 * Whether a part that `before` protects is the same now: false for one that has appeared or was
 * replaced since.
 */
bool folder_scan_has(const struct folder_scan *before, const struct folder_part *part);

/*
 * The same, and that it was there all the time: a run of another server, which knows nothing of this one, may have
 * taken a part away under another name (a hard link), or made room for a directory with the number of the old one.
 */
bool folder_scan_kept(const struct folder_scan *before, const struct folder_part *part);

/* The same of one that the run can change: and that nothing in it has changed, as both traces say. */
bool folder_scan_rested(const struct folder_scan *before, const struct folder_part *part);

#endif
