/*
 * The result of a run as a worker sends it to a server or to `run`: all of it, so that those make of it what
 * they make of a run of their own. `batch` gets the record for programs instead (result_json.h).
 *
 * Not carried: changes to folders, which are the worker's.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_WORKERS_CARRIED_RESULT_H
#define INTERPRETER_WORKERS_CARRIED_RESULT_H

#include "sandbox/base/json.h"
#include "sandbox/result.h"

/*
 * Writes it as a value. Its files may take `room` bytes of text; those that find none are counted as left out.
 */
void carried_result_write(struct json_writer *writer, const struct run_result *result, size_t room);

/*
 * Reads what a worker sent: untrusted. Each file becomes one of memory. 0, and the result is the caller's; or
 * a negative errno with its fault.
 */
int carried_result_read(const struct json_value *value, struct run_result *ret_result,
                        struct fault *fault);

#endif
