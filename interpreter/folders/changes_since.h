/*
 * What one call of a session changed in its copy of a folder: what is not as it was after the call before.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FOLDERS_CHANGES_SINCE_H
#define INTERPRETER_FOLDERS_CHANGES_SINCE_H

#include "interpreter/folders/folder_patches.h"

/* As they were after the last call, without patches; all zero before the first. */
struct changes_seen {
    const char *folders[FOLDERS_MAX]; /* their paths, borrowed from the settings; NULL: none yet */
    struct changes list[FOLDERS_MAX]; /* owned; of these */
};

void changes_seen_release(struct changes_seen *seen);

/*
 * Marks what the call changed, and adds what it undid. A patch that it did not change is closed. Lists that are not
 * whole are compared as far as they go.
 */
void changes_since_mark(const struct changes_seen *seen, struct folder_patches *patches);

/* Takes over the changes, which have been told. Those that are not known leave what was seen before. */
void changes_since_keep(struct changes_seen *seen, struct folder_patches *patches);

#endif
