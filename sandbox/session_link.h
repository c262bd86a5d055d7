/*
 * What the server tells the program of a session, and what it is told: frames on the channel, and the
 * memories of code and stdin. images/runners has the other side.
 *
 * Side: parent.  Everything that is received comes from a snippet: untrusted.
 */
#ifndef SANDBOX_SESSION_LINK_H
#define SANDBOX_SESSION_LINK_H

#include "sandbox/base/buffer.h"
#include "sandbox/jail/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
    FRAME_RUN =
        1, /* a: bytes of code; b: RUN_HAS_CALLS, and of a copy that is wanted after it, the KiB of files, if not 0 */
    FRAME_INTERRUPT = 2,
    FRAME_END = 3,
    FRAME_READY =
        16, /* the program can take its first cell; or cell: a copy, made after that, the next one; a: enum file_return */
    FRAME_DONE =
        17, /* a: enum cell_status; b: exit code of CELL_EXITED, shown bytes of the value of CELL_FINISHED */
    FRAME_CHECKPOINT =
        18, /* before DONE or READY of a copy. a: the pid of the new copy, or 0; b: enum checkpoint_hindrance */
};

#define RUN_HAS_CALLS                                                                              \
    (1U << 31) /* it can call functions: call_frame.h. What there are is behind its code, as JSON */

enum cell_status {
    CELL_FINISHED = 0,
    CELL_RAISED = 1, /* an exception ended it */
    CELL_INTERRUPTED = 2,
    CELL_EXITED = 3, /* it asked to exit; the session goes on */
    CELL_ABANDONED = 4, /* interrupted while it waited for something that may still come */
};

struct frame {
    uint32_t kind; /* enum frame_kind */
    uint32_t cell;
    uint32_t a, b;
};

/* To the program of a lane. Both borrowed. */
struct session_link {
    const struct sandbox *sandbox;
    const struct session_channels *channels;
    unsigned lane;
};

/* Fills the stdin of the next cell. 0 or a negative errno. */
int session_link_write_input(const struct session_channels *channels, const char *bytes,
                             size_t length);

/* A cell, for its program. Borrowed. */
struct session_link_cell {
    uint32_t number;
    const char *code;
    size_t length;
    const struct buffer *functions; /* JSON, of what it can call; NULL: it can call nothing */
    uint32_t kept_kib; /* of files in the copy that is wanted after it; 0: none is */
};

/* Lets the program run on, with this as its next cell, which nothing interrupts yet. 0 or a negative errno. */
int session_link_run(const struct session_link *link, const struct session_link_cell *cell);

/*
 * Tells the program to stop that cell, and what runs in its process group as a terminal would. 0 or a negative
 * errno.
 */
int session_link_interrupt(const struct session_link *link, uint32_t cell, bool by_frame);

/* The cell has ended: nothing interrupts it any more, and init stops all processes. The same. */
int session_link_pause(const struct session_link *link);

/* Hands the copy over to init, which keeps so many of those that are of this life of the program. The same. */
int session_link_keep(const struct session_link *link, const struct parent_message *copy);

/* Has init keep so many copies at most, the newest. The same. */
int session_link_keep_newest(const struct session_link *link, uint32_t number);

/* The program is to be again as after that cell, of which a copy is there: files, too. The same. */
int session_link_go_back(const struct session_link *link, uint32_t cell, uint32_t revived);

/* Ends the program in this life of it. The same. */
int session_link_end_program(const struct session_link *link, uint32_t revived);

/* Passes a word about the lane on to init. The same. */
int session_link_say(const struct session_link *link, enum parent_word word);

/* 0; -EAGAIN: there is none yet; -EPROTO: not a frame; -EPIPE: no more will come. */
int session_link_receive(const struct session_channels *channels, struct frame *ret_frame);

#endif
