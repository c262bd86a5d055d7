/*
 * The way of calls between the server and the programs of one lane of a session: a pipe of its frames, and a socket for answers, which
 * wait here while that is full. Of a program that does not read its answers, no call is read.
 *
 * Names and JSON come from the snippet: untrusted. Side: parent.
 */
#ifndef SANDBOX_CALL_CHANNEL_H
#define SANDBOX_CALL_CHANNEL_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/loop.h"
#include "sandbox/call_reader.h"

#include <stdbool.h>

struct call_channel;

/* From the loop. */
struct call_channel_observer {
    /* 0; -EPROTO: such a piece may not come now, and the channel is broken. */
    int (*came)(void *data, struct call_channel *channel, const struct call_piece *piece);
    /* What has come is no piece. Nothing more is read. */
    void (*broken)(void *data);
    void *data;
};

/* NULL: no memory. */
struct call_channel *call_channel_new(struct loop *loop,
                                      const struct call_channel_observer *observer);
void call_channel_free(struct call_channel *channel);

/* Takes the bytes, which are sent when they can be. False: no memory. */
bool call_channel_add(struct call_channel *channel, const struct call_header *header,
                      struct buffer *json);
/* The same with a copy. */
bool call_channel_add_text(struct call_channel *channel, enum call_kind kind, const char *text,
                           size_t length);

/* The program has started: both descriptors are borrowed until the channel is stopped. False: they cannot be watched. */
bool call_channel_begin(struct call_channel *channel, int calls_fd, int results_fd);

/* Sends what was added, as far as there is room; the rest follows. */
void call_channel_go_on(struct call_channel *channel);

/*
 * The same in a later turn of the loop: of long answers that a program may ask for as often as it likes, no more than
 * CALL_ANSWERS_WAITING are sent in a turn, however fast it reads.
 */
void call_channel_go_on_later(struct call_channel *channel);

/* Takes what is in the pipe now; if more answers wait than there may, drops the rest, as who has written it reads none. */
void call_channel_catch_up(struct call_channel *channel);

/* Whether there are bytes that the program could not be sent yet. */
bool call_channel_has_unsent(const struct call_channel *channel);

/* No more is read or sent, and the observer is told nothing any more. */
void call_channel_stop(struct call_channel *channel);

#endif
