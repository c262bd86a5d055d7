/*
 * Takes apart what a program writes to its pipe of calls. Everything is untrusted; JSON is not looked at.
 *
 * Side: parent.
 */
#ifndef SANDBOX_CALL_READER_H
#define SANDBOX_CALL_READER_H

#include "sandbox/call_frame.h"

#include <stddef.h>

#define CALL_READ_MAX 65536

struct call_reader {
    size_t length, taken;
    char bytes[CALL_READ_MAX + CALL_FRAME_MAX];
};

/* Borrowed from the reader until the next call. */
struct call_piece {
    enum call_kind kind;
    uint32_t call;
    uint32_t flags;
    const char *name; /* of a first piece; not NUL-terminated */
    size_t name_length; /* 1..CALL_NAME_MAX; 0: it is not the first */
    const char *bytes;
    size_t length;
};

/* Reads from a descriptor that does not block, when all frames that there were are taken. 0; -EAGAIN: nothing is there; -EPIPE: nothing will be; another negative errno. */
int call_reader_fill(struct call_reader *reader, int fd);

/* 0; -EAGAIN: the next frame is not complete; -EPROTO: there is none. */
int call_reader_next(struct call_reader *reader, struct call_piece *ret_piece);

#endif
