/*
 * The record of a run, for programs: a JSON object beside the text that a model reads.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_RESULT_JSON_H
#define INTERPRETER_RESULT_RESULT_JSON_H

#include "interpreter/result/result_files.h"
#include "interpreter/session_text.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

struct check;

struct record {
    const struct run_result *result; /* borrowed */
    const char *image;               /* borrowed */
    uint64_t stdout_cut;             /* bytes that the caller does not show */
    uint64_t stderr_cut;
    const struct result_files *files; /* borrowed; NULL: none are told of */
    const struct folder_patches *patches; /* borrowed; or NULL */
    const struct session_view *session; /* borrowed; NULL: it ran in none */
    const struct policy *network; /* borrowed; of the settings */
    const struct check *check; /* borrowed; NULL: the program was not checked */
};

/* The most bytes of an object with both streams as they are kept, where a byte may need six, and the record. */
#define RESULT_JSON_MAX(kept) (2 * 6 * (kept) + 2 * MEBIBYTE)

/* The members "stdout" and "stderr": what was kept, with a line in place of what was cut. */
void result_json_write_output(struct json_writer *writer, const struct run_result *result);

/* The value of the member "policy": what a check has found, or null. */
void result_json_write_check(struct json_writer *writer, const struct check *check);

/* The members of the record; the caller has begun the object, and ends it. */
void result_json_write_members(struct json_writer *writer, const struct record *record);

/* The JSON schema of an object with stdout, stderr and the members of the record: an object. */
void result_json_write_schema(struct json_writer *writer);

/* The members "phase" and "compile" of that record alone. */
void result_json_write_compile(struct json_writer *writer, const struct run_result *result);

/* A member of milliseconds, to the microsecond. */
void result_json_write_milliseconds(struct json_writer *writer, const char *key,
                                    int64_t nanoseconds);

/* Members that tell who holds which limit, for an object that the caller has begun and ends. */
void result_json_write_enforcement(struct json_writer *writer, const struct enforcement *enforced);

/* How it ended as a shell tells it: the exit code; 128 + signal; 124 for a time-out. */
int result_json_exit_status(const struct run_result *result);

/* Whether the program ended by itself with exit code 0. */
bool result_json_is_success(const struct run_result *result);

/* Why something could not be done, for programs: {"id", "message"}; `id` is null if the fault has none. */
void result_json_write_fault(struct json_writer *writer, const struct fault *fault);

#endif
