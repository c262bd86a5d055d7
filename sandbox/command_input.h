/*
 * What is written to the stdin of a command, as its pipe takes it.
 *
 * Side: parent.  Source: pipe(7).
 */
#ifndef SANDBOX_COMMAND_INPUT_H
#define SANDBOX_COMMAND_INPUT_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct command_input {
    int fd; /* owned; -1: closed, or not open yet */
    struct loop_watch watch; /* its ready() calls command_input_write() */
    struct buffer bytes; /* to be written */
    bool ends; /* with these */
};

/* 0; -EPIPE: it ends with what is there; -EAGAIN: so much is waiting already; -ENOMEM. */
int command_input_add(struct command_input *input, const char *bytes, size_t length, bool is_last);

/* Writes what there is room for: 1: the rest waits for the pipe; 0: all is written, or nobody reads it; a negative errno. */
int command_input_write(struct command_input *input, struct loop *loop);

void command_input_close(struct command_input *input, struct loop *loop);

#endif
