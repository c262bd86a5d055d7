/*
 * Notes for people, and a line about each call for monitoring, on stderr or in a file. stdout is
 * reserved for JSON-RPC, or for the snippet.
 *
 * Only this module decides the contents of a line: our own names, outcomes and times; never code,
 * output, arguments or values of variables. A line that would block on a full pipe is dropped.
 *
 * Side: parent. The log is one of the few global variables of the process.
 */
#ifndef INTERPRETER_BASE_LOG_H
#define INTERPRETER_BASE_LOG_H

#include "sandbox/base/fault.h"
#include "sandbox/result.h"

#include <stdint.h>

enum log_level {
    LOG_WARNINGS, /* notes about problems */
    LOG_CALLS,    /* also a line for each call */
};

enum log_format {
    LOG_TEXT,
    LOG_JSON, /* one object per line */
};

struct log_options {
    enum log_level level;
    enum log_format format;
    char *path; /* lines are added to this file; NULL: stderr */
};

/*
 * Sends lines to the destination in the options; without this call, notes go to stderr. 0, or a
 * negative errno with its fault.
 */
int log_open(const struct log_options *options, struct fault *fault);

/*
 * For a command whose output is in the same pipe, and which serves nobody meanwhile: a line waits so long for room. Without
 * this call, it does not wait.
 */
void log_wait_for_reader(int milliseconds);

/* Writes "code-sandbox-mcp: NOTE" and a newline in one write(2), truncated if too long. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A note for each line of the text, which may be NULL. */
void log_note_lines(const char *text);

/* How a call ended. */
struct log_call {
    const char *tool;
    const char *outcome; /* of the run; "failed": it could not start; "refused"; "cancelled" */
    const struct run_result *result; /* or NULL: no run ended */
    int64_t total_ns; /* from the request to here */
};

void log_call(const struct log_call *call);

#endif
