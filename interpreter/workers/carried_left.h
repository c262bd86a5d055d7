/*
 * The part of a carried result (carried_result.h) that names what a run left and did not return.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_WORKERS_CARRIED_LEFT_H
#define INTERPRETER_WORKERS_CARRIED_LEFT_H

#include "sandbox/base/json.h"
#include "sandbox/result.h"

/* Writes the members "left" and "left_more". */
void carried_left_write(struct json_writer *writer, const struct run_left_out *left_out);

/*
 * Reads them from what a worker sent: untrusted. Without them there is nothing. 0, and the result is the
 * caller's; -EBADMSG or -ENOMEM.
 */
int carried_left_read(const struct json_value *value, struct run_left_out *ret_left_out);

/* Whether it is a path as struct run_file promises: relative, without a way out. */
bool carried_left_is_path(const struct json_value *path);

#endif
