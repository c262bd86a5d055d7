/*
 * Names that snippets gave to files, made safe for a directory of the host.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FILES_PLAIN_NAME_H
#define INTERPRETER_FILES_PLAIN_NAME_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/json.h"

/*
 * Changes a name, one part of a path, in place; it never grows. '_' replaces what a terminal, a shell or
 * a person could misread: bytes that are not UTF-8, control characters, invisible characters and those
 * that change the direction of text; a space at either end; and a first character that makes an option
 * ('-'), a hidden file such as .git ('.') or a home directory ('~'), the name HEAD, by which git knows a
 * directory of its own, or a protected name (protected_names.h). So the result is never "." or "..".
 */
void plain_name_make(char *name);

/*
 * Appends a name or a path, chosen by a snippet, to our own words: as visible_append() writes it, and of at most
 * NOTES_NAME_MAX bytes, with "..." after more. As buffer_append().
 */
int plain_name_append(struct buffer *text, const char *name);

/* Writes a member with a name for people, of any length, as visible_append() writes it. */
void plain_name_write_member(struct json_writer *writer, const char *key, const char *name);

#endif
