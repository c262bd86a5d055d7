/*
 * Fills the pipe of a program's standard input, from bytes or from a descriptor of this process.
 *
 * The pump never blocks the loop. It closes the pipe at the end of the source, and stops without an
 * error when the program closes its end. It reads at most STDIN_BUFFER_SIZE ahead of the pipe.
 *
 * Side: parent.  Source: pipe(7), epoll(7) EPOLLONESHOT, preadv2(2) RWF_NOWAIT.
 */
#ifndef SANDBOX_STDIN_PUMP_H
#define SANDBOX_STDIN_PUMP_H

#include "sandbox/base/loop.h"
#include "sandbox/jail/run_spec.h"

#include <stdbool.h>
#include <stddef.h>

struct stdin_pump {
    struct loop *loop; /* borrowed */
    int sink_fd;       /* owned; -1: it is closed */
    int source_fd;     /* borrowed; -1: bytes */
    struct loop_watch sink, source;
    bool is_file;      /* the source is always ready, and cannot be watched */
    const char *bytes; /* to be written next; borrowed, or those of `buffer` */
    size_t length;
    char *buffer; /* owned; of a source that is a descriptor */
};

#define STDIN_PUMP_NONE                                                                            \
    ((struct stdin_pump){.sink_fd = -1, .source_fd = -1, .sink = {.fd = -1}, .source = {.fd = -1}})

/*
 * Starts. `source` is not STDIN_EMPTY; its bytes or descriptor are borrowed until the pump is closed.
 * Takes ownership of `sink_fd`, the write end of a non-blocking pipe. SIGPIPE must be ignored. On return
 * the pipe holds as many of the bytes as fit. 0; or a negative errno, with the pump closed.
 */
int stdin_pump_open(struct stdin_pump *pump, struct loop *loop, const struct run_stdin *source,
                    int sink_fd);

/* Stops, closes the pipe and drops unwritten bytes. Does nothing if the pump is closed. */
void stdin_pump_close(struct stdin_pump *pump);

#endif
