/*
 * Keeps the head and the tail of a stream, in bounded memory.
 *
 * Side: parent.
 */
#ifndef SANDBOX_CAPTURE_H
#define SANDBOX_CAPTURE_H

#include "sandbox/base/buffer.h"

#include <stddef.h>
#include <stdint.h>

struct capture {
    struct buffer head;
    struct buffer tail; /* the last bytes, in order; empty when nothing was cut */
    uint64_t total;     /* bytes the program wrote */
    uint64_t cut;       /* bytes dropped between head and tail */
};

/*
 * Keeps `kept` bytes: the beginning of the stream, and RUN_OUTPUT_TAIL (at most a quarter of
 * `kept`) of its end. Until capture_end(), the tail may hold up to twice as much, because old bytes are dropped
 * in large pieces.
 */
void capture_open(struct capture *capture, uint64_t kept);

/* 0, or -ENOMEM: the bytes then count as cut. */
int capture_add(struct capture *capture, const char *bytes, size_t length);

/* The stream has ended: what is kept does not depend on the pieces in which it came. */
void capture_end(struct capture *capture);

void capture_release(struct capture *capture);

#endif
