/*
 * The record of a run, for programs: a JSON object beside the text that a model reads.
 *
 * Side: parent.
 */
#ifndef MCP_RECORD_H
#define MCP_RECORD_H

#include "mcp/pictures.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

struct record {
    const struct run_result *result; /* borrowed */
    const char *image;               /* borrowed */
    uint64_t stdout_cut;             /* bytes that the caller does not show */
    uint64_t stderr_cut;
    const struct pictures *pictures; /* borrowed; NULL: none are told of */
};

/* The members of the record; the caller has begun the object, and ends it. */
void record_write_members(struct json_writer *writer, const struct record *record);

/* Members that tell who holds which limit, for an object that the caller has begun and ends. */
void record_write_enforcement(struct json_writer *writer, const struct enforcement *enforced);

/* How it ended as a shell tells it: the exit code; 128 + signal; 124 for a time-out. */
int record_exit_status(const struct run_result *result);

/* Whether the program ended by itself with exit code 0. */
bool record_is_success(const struct run_result *result);

#endif
