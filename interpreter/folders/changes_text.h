/*
 * What a result tells of changes in overlay folders: lines for people and models, and a member of the
 * record for programs.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FOLDERS_CHANGES_TEXT_H
#define INTERPRETER_FOLDERS_CHANGES_TEXT_H

#include "interpreter/folders/folder_patches.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/json.h"

/*
 * Appends lines: the changes, what the patch does not carry, where the patch is, and its beginning if
 * that is wanted. No newline at the end; nothing where nothing changed. `patches` may be NULL. 0 or a
 * negative errno.
 */
int changes_text_note(const struct folder_patches *patches, uint64_t call, bool shows_patch,
                      struct buffer *text);

/*
 * What the record says of changes: null without an overlay folder (`patches` may be NULL); the object
 * of the first one (or of none that is known), in whose member "others" further ones are.
 */
void changes_text_write(struct json_writer *writer, const struct folder_patches *patches,
                        uint64_t call);

#endif
