/*
 * Editing of lines on a terminal, with a history: libedit, loaded when it is there, so that no other command of the
 * program pays for it, and a build needs nothing.
 *
 * Side: parent.  Source: editline(3), editline(7).
 */
#ifndef CLI_LINE_EDITOR_H
#define CLI_LINE_EDITOR_H

#include "sandbox/base/buffer.h"

struct line_editor;

/* Where its bytes come from: 1 with one; 0 at the end; a negative errno. */
struct line_source {
    int (*get_byte)(void *data, char *ret_byte);
    void *data;
};

#define HISTORY_LINES_MAX 1000

/*
 * Reads from the source, which is stdin, and writes to stderr. `history`: the path of its file, borrowed for both calls, or NULL.
 * NULL: there is no libedit, or no terminal that it can use.
 */
struct line_editor *line_editor_open(const struct line_source *source, const char *history);

/* Writes the history. */
void line_editor_close(struct line_editor *editor);

/* Appends a line with its newline, and keeps it in the history. As get_byte(). */
int line_editor_read(struct line_editor *editor, const char *prompt, struct buffer *line);

#endif
