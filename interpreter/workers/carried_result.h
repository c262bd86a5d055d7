/*
 * The result of a run as a worker sends it to a server or to `run`: all of it, so that those make of it what
 * they make of a run of their own. `batch` gets the record for programs instead (result_json.h).
 *
 * What it says of folders and rules is read by those who tell of them.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_WORKERS_CARRIED_RESULT_H
#define INTERPRETER_WORKERS_CARRIED_RESULT_H

#include "interpreter/folders/folder_patches.h"
#include "interpreter/rules/rules.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

struct carried_result {
    const struct run_result *result;
    const struct folder_patches *patches; /* of overlay folders; or NULL */
    const struct findings *findings;      /* of the check before it; NULL: there was none */
    int64_t check_ns;
    bool wants_files;
};

/*
 * Writes it as a value. Patches and files may take `room` bytes of text; a patch that finds none is told to be too long, and
 * files are counted as left out.
 */
void carried_result_write(struct json_writer *writer, const struct carried_result *carried,
                          size_t room);

/*
 * Reads what a worker sent: untrusted. Each file becomes one of memory. 0, and the result is the caller's; or
 * a negative errno with its fault.
 */
int carried_result_read(const struct json_value *value, struct run_result *ret_result,
                        struct fault *fault);

#endif
