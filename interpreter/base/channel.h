/*
 * Lines over two descriptors: stdin and stdout of a server or of `batch`.
 *
 * No flag of the descriptors is changed, because the open file descriptions are shared with the
 * process that started us: O_NONBLOCK on a terminal or pipe would make its reads fail. Reads happen
 * only when epoll reports data; writes only when it reports room, and never exceed that room.
 * Regular files work too.
 *
 * Side: parent.  Source: pipe(7), PIPE_BUF; epoll_ctl(2), EPERM.
 */
#ifndef INTERPRETER_BASE_CHANNEL_H
#define INTERPRETER_BASE_CHANNEL_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum channel_end {
    CHANNEL_INPUT_ENDED, /* end of file: earlier lines can still be answered */
    CHANNEL_OUTPUT_GONE, /* no reader is left */
    CHANNEL_OUTPUT_FULL, /* the client does not read its answers: OUTPUT_MAX */
};

struct channel_observer {
    /* One line without its newline; borrowed for the call. The last line may lack a newline. */
    void (*line)(void *data, const char *line, size_t length);
    /* A line longer than LINE_IN_MAX began; the rest of it is skipped. */
    void (*oversized)(void *data);
    /* Reading or writing ended; called at most once for each reason. No line follows. */
    void (*ended)(void *data, enum channel_end end);
    /*
     * true: more than OUTPUT_PAUSE is unread; no lines are delivered until less than OUTPUT_RESUME
     * is left, and producers of output should pause, too. false: resumed.
     */
    void (*paused)(void *data, bool is_paused);
    /* Everything sent has been written. */
    void (*drained)(void *data);
    void *data;
};

/* One of the two descriptors. */
struct channel_side {
    int fd; /* borrowed */
    int ready_fd; /* owned: eventfd watched in place of an always ready file; else -1 */
    struct loop_watch watch;
};

struct channel {
    struct loop *loop;
    const struct channel_observer *observer;
    struct channel_side input, output;
    struct buffer incoming, outgoing;
    size_t scanned; /* bytes of incoming known to hold no newline */
    size_t written; /* bytes of outgoing already written */
    uint64_t taken; /* bytes written in all */
    bool skipping; /* within an oversized line */
    bool reading; /* not stopped, not at the end of input */
    bool writing; /* output is neither gone nor full */
    bool paused; /* the client does not read: lines wait */
    bool never_pauses; /* channel_read_on() */
    bool held; /* by channel_hold() */
    bool delivering; /* an observer is being handed lines */
    bool input_ended; /* what is left of it waits while held */
    int input_error, output_error; /* why they ended: a positive errno; 0: as they should */
    bool output_no_socket; /* send(2) has refused it */
};

#define CHANNEL_SIDE_NONE {.fd = -1, .ready_fd = -1, .watch = {.fd = -1}}
/* Not open yet; may be closed. */
#define CHANNEL_NONE ((struct channel){.input = CHANNEL_SIDE_NONE, .output = CHANNEL_SIDE_NONE})

/* 0 or a negative errno. `observer` is kept. */
int channel_open(struct channel *channel, struct loop *loop, int input_fd, int output_fd,
                 const struct channel_observer *observer);
void channel_close(struct channel *channel);

/* Of what is sent but not yet written; otherwise OUTPUT_MAX. */
void channel_set_output_max(struct channel *channel, size_t bytes);

/* Delivers lines however much is unread: the other side may read again only when its own lines are read. */
void channel_read_on(struct channel *channel);

/* Queues a line and appends a newline. `line` contains none. */
void channel_send(struct channel *channel, const char *line, size_t length);

/* The same of a whole buffer, whose bytes are taken if nothing else is unsent. */
void channel_send_whole(struct channel *channel, struct buffer *line);

/*
 * While held, no line is delivered and nothing is read: the owner has no room for another. Lines that
 * are already here may be delivered by the call that ends it.
 */
void channel_hold(struct channel *channel, bool hold);

/* Reads no more. */
void channel_stop_reading(struct channel *channel);

/* Bytes sent but not yet written. */
size_t channel_unsent(const struct channel *channel);

/* Whether everything sent has been written, or never can be. */
bool channel_is_drained(const struct channel *channel);

#endif
