/*
 * Lines over two descriptors: stdin and stdout of a server.
 *
 * No flag of the descriptors is changed, because their open file descriptions are shared with
 * whoever started us: O_NONBLOCK on a terminal or a pipe would make a stranger's reads fail. Reads
 * happen only when epoll says that there is something; writes only when it says that there is
 * room, and are no larger than what fits then. Regular files work too.
 *
 * Side: parent.  Source: pipe(7), PIPE_BUF; epoll_ctl(2), EPERM.
 */
#ifndef MCP_BASE_CHANNEL_H
#define MCP_BASE_CHANNEL_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

enum channel_end {
    CHANNEL_INPUT_ENDED, /* end of file: what was sent before can still be answered */
    CHANNEL_OUTPUT_GONE, /* nobody reads any more */
    CHANNEL_OUTPUT_FULL, /* the client does not read what it asked for: OUTPUT_MAX */
};

struct channel_observer {
    /* One line without its newline; borrowed for the call. The last may have had no newline. */
    void (*line)(void *data, const char *line, size_t length);
    /* A line longer than LINE_IN_MAX began; the rest of it is skipped. */
    void (*oversized)(void *data);
    /* Reading or writing ended; called once for each reason at most. No line comes afterwards. */
    void (*ended)(void *data, enum channel_end end);
    /*
     * More than OUTPUT_PAUSE has not been read: lines wait until less than OUTPUT_RESUME is left, and
     * so should what makes further output. Then the opposite.
     */
    void (*paused)(void *data, bool is_paused);
    /* Everything sent has been written. */
    void (*drained)(void *data);
    void *data;
};

/* One of the two descriptors. */
struct channel_side {
    int fd; /* borrowed */
    int ready_fd; /* owned: watched in the place of a file that is always ready; else -1 */
    struct loop_watch watch;
};

struct channel {
    struct loop *loop;
    const struct channel_observer *observer;
    struct channel_side input, output;
    struct buffer incoming, outgoing;
    size_t scanned; /* bytes of incoming known to hold no newline */
    size_t written; /* bytes of outgoing that are out already */
    bool skipping; /* within a line that is too long */
    bool reading; /* not stopped, not at the end of input */
    bool writing; /* output is neither gone nor full */
    bool paused; /* the client does not read: lines wait */
    bool output_no_socket; /* send(2) has refused it */
};

/* 0 or a negative errno. `observer` is kept. */
int channel_open(struct channel *channel, struct loop *loop, int input_fd, int output_fd,
                 const struct channel_observer *observer);
void channel_close(struct channel *channel);

/* Queues a line and its newline. `line` holds no newline. */
void channel_send(struct channel *channel, const char *line, size_t length);

/* Reads no more. */
void channel_stop_reading(struct channel *channel);

/* Bytes that were sent and have not been written yet. */
size_t channel_unsent(const struct channel *channel);

/* Whether everything that was sent has been written, or never can be. */
bool channel_is_drained(const struct channel *channel);

#endif
