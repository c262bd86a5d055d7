/*
 * What a snippet may do with a folder of the host.
 *
 * Side: both.
 */
#ifndef SANDBOX_JAIL_CHILD_FOLDER_MODE_H
#define SANDBOX_JAIL_CHILD_FOLDER_MODE_H

enum folder_mode {
    FOLDER_READ_ONLY, /* read, through an overlay without an upper layer */
    FOLDER_OVERLAY,   /* write to an upper layer of the run; the folder stays as it is */
    FOLDER_WRITABLE, /* write to the folder itself, but for protected names */
    FOLDER_MODE_COUNT,
};

/* What a file or directory in a folder of mode FOLDER_WRITABLE needs. */
enum folder_care {
    CARE_NONE,
    CARE_PROTECT, /* to be read-only, with all below it */
    CARE_PIN, /* to stay in its place, so that what is protected below it stays there */
    CARE_HIDE, /* to be covered: it leads to another program */
};

#endif
