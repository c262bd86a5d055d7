/*
 * Every bound on what a client can make the front end hold or write, in one place; those on runs
 * are in sandbox/limits/limits.h.
 *
 * Sizes are bytes.
 */
#ifndef MCP_BASE_BOUNDS_H
#define MCP_BASE_BOUNDS_H

#include "sandbox/limits/limits.h"

/* One line from the client. Larger ones are refused and skipped. */
#define LINE_IN_MAX (16 * MEBIBYTE)
/* One line to the client, its newline counted. Common clients give up at 10 MiB. */
#define LINE_OUT_MAX (4 * MEBIBYTE)
/*
 * Answers that the client has not read: at the first of these no more lines are read and no further
 * runs begin, until it is down to the second. At the third, which those that went on just then
 * hardly reach, we end.
 */
#define OUTPUT_PAUSE (8 * MEBIBYTE)
#define OUTPUT_RESUME (4 * MEBIBYTE)
#define OUTPUT_MAX (64 * MEBIBYTE)

/* The id of a request, as JSON text. */
#define ID_MAX 1024
/* Requests in one batch; even with the longest ids, errors for all of them fit in one line. */
#define BATCH_MAX 256

/* What a notification of progress shows of the lines that were printed. */
#define CALL_PROGRESS_LINES_MAX (4 * KIBIBYTE)
/* While the client has not read more than this, it is not told of progress. */
#define CALL_PROGRESS_UNSENT_MAX (16 * KIBIBYTE)
/* Requests of subscriptions/listen that are open at once. */
#define SUBSCRIPTIONS_MAX 64

/* What a result shows of stdout and stderr together; and of stderr when stdout is long too. */
#define SHOWN_MAX (32 * KIBIBYTE)
#define SHOWN_STDERR_SHARE (16 * KIBIBYTE)

/* Of an image's libraries, how much the description of a tool names: every request has it in it. */
#define LIBRARIES_SHOWN_MAX 300

/* Output that was cut and can be read as a resource: one stream, all of them, how many results. */
#define OUTPUT_STREAM_MAX (2 * MEBIBYTE)
#define OUTPUTS_BYTES_MAX (16 * MEBIBYTE)
#define OUTPUTS_MAX 32

/* The files of all pictures of a result together; as base64 they are a third more. */
#define PICTURES_BYTES_MAX (2 * MEBIBYTE)

/* Runs at once that the operator may ask for. */
#define PARALLEL_MAX 256
#define WARM_DEFAULT 2
/* A configuration file. */
#define CONFIGURATION_MAX (64 * KIBIBYTE)
/* A seccomp profile. */
#define PROFILE_MAX MEBIBYTE

/* How long answers may wait for the client to read them once everything else has ended. */
#define FLUSH_MAX_MS 1000

#endif
