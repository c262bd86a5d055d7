/*
 * What a program of a session and the server send each other when a snippet calls functions of the server's client.
 *
 * Frames go up through a pipe, each by one write of at most CALL_FRAME_MAX bytes, so that a program killed in the middle of a
 * call leaves none in part; they come down through a socket, each a packet of at most CALL_PACKET_MAX. The server takes
 * nothing from a socket: jail/session_channels.h. Behind the header of a CALL's first frame is its name, then JSON, in
 * pieces, the last of which has CALL_LAST.
 *
 * Which functions there are comes with the code of each cell: session_link.h.
 * Programs that are started anew for each cell share one way with their children, and ask for the list of functions.
 *
 * A program makes up the numbers of its calls: those of a cell must not be those of another one shortly before, since a copy of it
 * may get answers that were meant for the program that it has replaced; nor those of calls that it has given up.
 *
 * Side: both (constants only).  images/runners has the other side.
 */
#ifndef SANDBOX_CALL_FRAME_H
#define SANDBOX_CALL_FRAME_H

#include <stdint.h>

struct call_header {
    uint32_t kind; /* enum call_kind */
    uint32_t call;
    uint32_t bytes; /* behind the header */
    uint32_t flags;
};

enum call_kind {
    /* Up: */
    CALL_BEGIN = 1,
    CALL_CANCEL = 4, /* nobody waits for its answer any more; no bytes */
    CALL_LIST = 7, /* the answer is to be the functions of the cell; no bytes */
    CALL_WAIT =
        5, /* the program does nothing but wait for answers, until the next comes, of so many calls as `call` has; no bytes */
    /* Down: */
    CALL_RESULT = 2, /* JSON */
    CALL_ERROR = 3, /* JSON: {"type", "text"}; flags have an enum call_error */
    CALL_PROGRAM = 6, /* what a live interpreter is to execute first */
};

#define CALL_FIRST                                                                                 \
    1U /* of CALL_BEGIN: the length of the name is in the bits from CALL_NAME_SHIFT on */
#define CALL_LAST 2U
#define CALL_NAME_SHIFT 8
#define CALL_NAME_MASK 0xff00U
#define CALL_ERROR_SHIFT 8

/* Of which kind the exception is. */
enum call_error {
    CALL_RAISED, /* by the function */
    CALL_REFUSED, /* there is no such function, or it may not be called */
    CALL_TIMEOUT,
    CALL_LIMIT,
};

#define CALL_FRAME_MAX 4096 /* PIPE_BUF of pipe(7) */
#define CALL_PACKET_MAX 65536

#endif
