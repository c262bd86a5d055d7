/*
 * What the model is told about folders of the host.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_MOUNTS_TEXT_H
#define INTERPRETER_SETTINGS_MOUNTS_TEXT_H

#include "sandbox/base/buffer.h"
#include "sandbox/jail/folders/folder_guard.h"

/*
 * Appends a sentence with the places of the folders and what happens to writes, at most
 * FOLDERS_SHOWN_MAX bytes for all of them. Without folders: that this computer's files are out of reach. 0 or
 * a negative errno of buffer_append().
 */
int mounts_describe(const struct folders *folders, struct buffer *text);

/*
 * Appends a warning about protected names that a run left in writable folders, if there are any; their
 * paths are made plain and short. `run` names the run in the sentence: "this run". 0 or a negative errno of
 * buffer_append().
 */
int mounts_warn(const struct folder_changes *changes, const char *run, struct buffer *text);

#define RUN_OF_RESULT "this run"
#define RUN_UNHEARD "a run that was cancelled or has no result" /* engine_options.appeared */

#endif
