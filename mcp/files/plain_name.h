/*
 * Names that snippets gave to files, made safe for a directory of the host.
 *
 * Side: parent.
 */
#ifndef MCP_FILES_PLAIN_NAME_H
#define MCP_FILES_PLAIN_NAME_H

#include "sandbox/base/buffer.h"

/*
 * Changes a name, one part of a path, in place; it never grows. '_' replaces what a terminal, a shell or
 * a person could misread: bytes that are not UTF-8, control characters, invisible characters and those
 * that change the direction of text; a space at either end; and a first character that makes an option
 * ('-'), a hidden file such as .git ('.') or a home directory ('~'). So the result is never "." or "..".
 */
void plain_name_make(char *name);

/*
 * Appends a name or a path, chosen by a snippet, to our own words: safe for a terminal, and of at most
 * NOTES_NAME_MAX bytes, with "..." after more. As buffer_append().
 */
int plain_name_append(struct buffer *text, const char *name);

#endif
