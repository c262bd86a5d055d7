/*
 * What the server tells the program of a session, and what it is told: frames on the channel, and the
 * memories of code and stdin. images/runners has the other side.
 *
 * Side: parent.  Everything that is received comes from a snippet: untrusted.
 */
#ifndef SANDBOX_SESSION_LINK_H
#define SANDBOX_SESSION_LINK_H

#include "sandbox/jail/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
    FRAME_RUN = 1,       /* a: bytes of code */
    FRAME_INTERRUPT = 2,
    FRAME_END = 3,
    FRAME_READY = 16,    /* the program can take its first cell */
    FRAME_DONE = 17,     /* a: enum cell_status; b: exit code of CELL_EXITED */
};

enum cell_status {
    CELL_FINISHED = 0,
    CELL_RAISED = 1,      /* an exception ended it */
    CELL_INTERRUPTED = 2,
    CELL_EXITED = 3,      /* it asked to exit; the session goes on */
    CELL_ABANDONED = 4,   /* interrupted while it waited for something that may still come */
};

struct frame {
    uint32_t kind; /* enum frame_kind */
    uint32_t cell;
    uint32_t a, b;
};

/* Fills the stdin of the next cell. 0 or a negative errno. */
int session_link_write_input(const struct session_channels *channels, const char *bytes,
                             size_t length);

/*
 * Lets the program run on, with this code as its next cell, which nothing interrupts yet. 0 or a negative
 * errno.
 */
int session_link_run(const struct sandbox *sandbox, uint32_t cell, const char *code, size_t length);

/*
 * Tells the program to stop that cell, and what runs in its process group as a terminal would. 0 or a negative
 * errno.
 */
int session_link_interrupt(const struct sandbox *sandbox, uint32_t cell, bool by_frame);

/* The cell has ended: nothing interrupts it any more, and init stops all processes. The same. */
int session_link_pause(const struct sandbox *sandbox);

/* 0; -EAGAIN: there is none yet; -EPROTO: not a frame; -EPIPE: no more will come. */
int session_link_receive(const struct session_channels *channels, struct frame *ret_frame);

#endif
