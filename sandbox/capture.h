/*
 * Keeping the head and the tail of a stream, in bounded memory.
 *
 * Side: parent.
 */
#ifndef SANDBOX_CAPTURE_H
#define SANDBOX_CAPTURE_H

#include "sandbox/result.h"

#include <stddef.h>

/*
 * Keeps `kept` bytes: the beginning of the stream, and RUN_OUTPUT_TAIL (of few bytes a quarter) of
 * its end. Of the end it may be up to twice as much, because old bytes go in large pieces.
 */
void capture_open(struct capture *capture, uint64_t kept);

/* 0 or -ENOMEM, when the bytes are counted as cut. */
int capture_add(struct capture *capture, const char *bytes, size_t length);

#endif
