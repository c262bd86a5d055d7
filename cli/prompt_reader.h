/*
 * Lines from stdin, one at a time, while the loop goes on: edited on a terminal that allows it.
 *
 * Side: parent.
 */
#ifndef CLI_PROMPT_READER_H
#define CLI_PROMPT_READER_H

#include "cli/line_editor.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>

struct prompt_reader {
    struct loop *loop; /* borrowed */
    bool is_terminal;
    bool is_interrupted; /* by prompt_reader_interrupt(): for the next read */
    bool is_waiting;     /* for input */
    struct loop_watch watch;
    struct line_editor *editor; /* owned; NULL: the terminal's own editing */
    struct buffer read;         /* owned: from a pipe or file, beyond the last line */
};

/* Stays where it is until it is closed. `history` as for line_editor_open(). */
void prompt_reader_open(struct prompt_reader *reader, struct loop *loop, const char *history);
void prompt_reader_close(struct prompt_reader *reader);

/*
 * Appends the next line with its newline, which is added to a last one without. 1; 0 at the end; -EINTR: interrupted,
 * and what was typed is dropped; -ENOBUFS: the line is too long for the buffer; another negative errno. The prompt goes
 * to stderr, on terminals only.
 */
int prompt_reader_next(struct prompt_reader *reader, const char *prompt, struct buffer *line);

/* From the loop: a line that is being read is given up, and the loop stopped. */
void prompt_reader_interrupt(struct prompt_reader *reader);

/* Whether more has been typed, or pasted, than was read. */
bool prompt_reader_has_more(const struct prompt_reader *reader);

/* Of a pipe or file: whether the next line that is not empty begins with a space or tab. Waits for it. */
bool prompt_reader_is_indented(struct prompt_reader *reader);

#endif
