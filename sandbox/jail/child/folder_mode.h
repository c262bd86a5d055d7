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
    FOLDER_MODE_COUNT,
};

#endif
