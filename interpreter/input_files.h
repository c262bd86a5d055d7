/*
 * The argument "files": input files of a snippet, as text or base64.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_INPUT_FILES_H
#define INTERPRETER_INPUT_FILES_H

#include "sandbox/base/json.h"
#include "sandbox/run_inputs.h"

struct input_files {
    struct run_input *files; /* owned; the names and texts are the JSON's */
    size_t count;
    char **decoded; /* owned, each: the bytes of a file that came as base64, or NULL */
};

/*
 * Reads the value, from the client: untrusted; and checks all that run_inputs_check() will. 0; -EINVAL or
 * -E2BIG with a fault that names the file; -ENOMEM. To be released in either case.
 */
int input_files_read(struct input_files *files, const struct json_value *array,
                     struct fault *fault);
void input_files_release(struct input_files *files);

/* Writes the members of the schema of the argument. */
void input_files_write_schema(struct json_writer *writer);

#endif
