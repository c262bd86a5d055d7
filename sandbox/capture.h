/*
 * Keeping the head and the tail of a stream, in bounded memory.
 *
 * Side: parent.
 */
#ifndef SANDBOX_CAPTURE_H
#define SANDBOX_CAPTURE_H

#include "sandbox/result.h"

#include <stddef.h>

/* Keeps up to `kept` bytes in all; up to RUN_OUTPUT_TAIL of those are the end of the stream. */
void capture_open(struct capture *capture, uint64_t kept);

/* 0 or -ENOMEM, when the bytes are counted as cut. */
int capture_add(struct capture *capture, const char *bytes, size_t length);

#endif
