/*
 * Writes changes as a patch for `git apply`. libgit2 compares lines and packs binary files; it gets
 * bytes in memory, and knows of no repository, configuration or file.
 *
 * Side: code-sandbox-mcp-changes.  Source: git-diff(1), "Generating patch text with -p"; git2/patch.h.
 */
#ifndef INTERPRETER_CHANGES_PATCH_H
#define INTERPRETER_CHANGES_PATCH_H

#include "interpreter/changes/change_list.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

/*
 * Appends the patch to `text`, whose maximum is that of the patch, and fills in the changes. A change
 * that does not fit, in bytes or in time, is left out. 0, or a negative errno with a fault: libgit2
 * cannot be started.
 */
int patch_write(struct change_list *changes, struct buffer *text, struct fault *fault);

#endif
