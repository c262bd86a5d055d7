/*
 * What comes to a worker, read: calls, and answers of front ends.
 *
 * Side: parent. Both come from outside: untrusted.
 */
#ifndef FLEET_TAKEN_MESSAGE_H
#define FLEET_TAKEN_MESSAGE_H

#include "sandbox/base/buffer.h"

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

/* What a front end says to a question. */
enum answer { ANSWER_GO, ANSWER_GONE, ANSWER_NOBODY };

/* False: it is no answer. */
bool taken_message_read_answer(natsMsg *message, enum answer *ret_answer);

/*
 * The line of the call, with our own number as its id. 0, and our process can read it, so that it answers with the id;
 * -EINVAL; -E2BIG; -ENOBUFS; -ENOMEM.
 */
int taken_message_read_call(natsMsg *message, uint64_t number, struct buffer *ret_line);

#endif
