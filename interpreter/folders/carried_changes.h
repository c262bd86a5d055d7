/*
 * What a worker tells of changes in its overlay folders: an array with an object for each folder, of its path and
 * either the failure or the report (changes_report.h) and, if there is room, the patch in base64.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FOLDERS_CARRIED_CHANGES_H
#define INTERPRETER_FOLDERS_CARRIED_CHANGES_H

#include "interpreter/folders/folder_patches.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/json.h"

/*
 * Writes the array. Patches may take *room bytes of text, which becomes less. Of a folder whose patch finds no room,
 * that is told in place of its changes.
 */
void carried_changes_write(struct json_writer *writer, const struct folder_patches *patches,
                           size_t *room);

/*
 * Reads the array, which a worker has sent: untrusted. `patches` is empty. What is not as it should be, or has no memory,
 * is counted as lost.
 */
void carried_changes_read(const struct buffer *text, struct folder_patches *patches);

#endif
