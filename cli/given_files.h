/*
 * Files of the host that `run --file` puts beside the program.
 *
 * Side: parent.
 */
#ifndef CLI_GIVEN_FILES_H
#define CLI_GIVEN_FILES_H

#include "interpreter/settings/settings.h"
#include "sandbox/base/options.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_inputs.h"

#include <stddef.h>

/* All zero: none. */
struct given_files {
    const char *said[INPUT_FILES_MAX]; /* FILE or NAME=FILE; borrowed from argv */
    char *names[INPUT_FILES_MAX];      /* owned */
    char *bytes[INPUT_FILES_MAX];      /* owned */
    struct run_input inputs[INPUT_FILES_MAX + 1]; /* of those; there is room for one more */
    size_t count;
    const struct settings *settings; /* borrowed, while they are read */
};

/* Value for apply of an option, whose offset is of a struct given_files: remembers one. */
int given_files_add(void *data, const struct option *option, const char *value,
                    struct fault *fault);

/*
 * Reads them all, and checks them as the inputs of a program whose file is `code_name`. 0, or a negative errno with a
 * fault that names the file and the remedy.
 */
int given_files_read(struct given_files *files, const struct settings *settings,
                     const char *code_name, struct fault *fault);

void given_files_release(struct given_files *files);

#endif
