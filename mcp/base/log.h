/*
 * Notes for people, and lines about calls for who watches them: on stderr, or in a file. stdout
 * belongs to JSON-RPC, or to the snippet.
 *
 * What a line holds is chosen here and nowhere else: names of ours, outcomes and times; never code,
 * output, arguments or values of variables. A line that would have to wait, because nobody reads a
 * pipe that is full, is left out.
 *
 * Side: parent. The log is the process's own: one of its few variables.
 */
#ifndef MCP_BASE_LOG_H
#define MCP_BASE_LOG_H

#include "sandbox/base/fault.h"
#include "sandbox/result.h"

#include <stdint.h>

enum log_level {
    LOG_WARNINGS, /* notes: what is wrong */
    LOG_CALLS,    /* and a line for each call */
};

enum log_format {
    LOG_TEXT,
    LOG_JSON, /* an object on each line */
};

struct log_options {
    enum log_level level;
    enum log_format format;
    char *path; /* lines are added to this file; NULL: stderr */
};

/*
 * From now on lines go where the options say; before, and without it, notes go to stderr. 0, or a
 * negative errno with its fault.
 */
int log_open(const struct log_options *options, struct fault *fault);

/* Writes "code-sandbox-mcp: NOTE" and a newline in one write(2); what is too long is cut. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How a call ended. */
struct log_call {
    const char *tool;
    const char *outcome; /* of the run; "failed": it could not be; "refused"; "cancelled" */
    const struct run_result *result; /* or NULL: nothing ran to its end */
    int64_t total_ns; /* from the request to here */
};

void log_call(const struct log_call *call);

#endif
