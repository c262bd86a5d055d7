/*
 * Names as git has them: quoted in patches, and refused where they could reach git's own files.
 *
 * Side: code-sandbox-mcp-changes.  Source: git's quote.c, and verify_path() of its read-cache.c.
 */
#ifndef INTERPRETER_CHANGES_GIT_NAME_H
#define INTERPRETER_CHANGES_GIT_NAME_H

#include "sandbox/base/buffer.h"

#include <stdbool.h>

/*
 * Appends PREFIX and PATH, in double quotes with escapes where a byte needs it, as git does with
 * core.quotePath. As buffer_append().
 */
int git_name_quote(struct buffer *text, const char *prefix, const char *path);

/* A name in a directory: ".git" in any spelling of file systems that git protects, or with one after a backslash. */
bool git_name_is_git(const char *name);

/* Whether git refuses the path as one of a symbolic link, because a part of it is ".gitmodules". */
bool git_path_has_modules(const char *path);

#endif
