/*
 * What a program reads from its standard input, moved from bytes or a descriptor of ours into its pipe.
 *
 * It waits on the loop for whichever side is not ready and never blocks it. The pipe is closed when
 * there is no more; a program that has closed its end is left alone, quietly. It reads no more than
 * STDIN_BUFFER_SIZE ahead of what fits into the pipe.
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
 * Starts; `source` is not STDIN_EMPTY, its bytes or descriptor are borrowed until it is closed. Takes
 * over `sink_fd`, a pipe that does not block. SIGPIPE must be ignored. What fits into the pipe of bytes
 * is in it on return. 0; or a negative errno, and it is closed.
 */
int stdin_pump_open(struct stdin_pump *pump, struct loop *loop, const struct run_stdin *source,
                    int sink_fd);

/* Stops and closes the pipe; what has not been written is dropped. Of a closed one: nothing. */
void stdin_pump_close(struct stdin_pump *pump);

#endif
