/*
 * The process that started this one: lines of JSON from stdin and to stdout, both one socket.
 *
 * Side: parent.
 */
#ifndef FLEET_LINES_H
#define FLEET_LINES_H

#include "sandbox/base/buffer.h"

#define LINES_MAX (UINT64_C(1) << 30) /* of a line: from our own program */

struct line_reader {
    struct buffer text;
    size_t begin, scanned;
};

#define LINE_READER ((struct line_reader){.text = BUFFER(LINES_MAX)})

/*
 * Waits for the next line, without its newline; valid until the next call. 1; 0: the end; a negative errno.
 */
int lines_next(struct line_reader *reader, const char **ret_line, size_t *ret_length);

/* Writes a line; from any thread. 0 or a negative errno: nobody reads. */
int lines_write(const char *line, size_t length);

/* Without memory to say what became of a call: ends this program, which says that all are lost. */
__attribute__((noreturn)) void lines_give_up(void);

#endif
