/*
 * The input files of a run: checks before it, and comparison after it.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RUN_INPUTS_H
#define SANDBOX_RUN_INPUTS_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/run_spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether these files can be put into the work directory, beside the file of the code. A name is a
 * relative path of at most INPUT_NAME_PARTS_MAX parts, none of them empty, "." or "..", none longer than
 * INPUT_NAME_PART_MAX bytes; no two files have the same name, and no name is a directory of another
 * one. `code_name` may be NULL. 0; -EINVAL, or -E2BIG for too much, with a sentence for the caller of
 * the run.
 */
int run_inputs_check(const struct run_input *files, size_t count, const char *code_name,
                     struct fault *fault);

/* The names alone. */
int run_inputs_check_names(const struct run_input *files, size_t count, const char *code_name,
                           struct fault *fault);

/* The same, of the inputs of a run, and whether its code and stdin are not too long. */
int run_inputs_check_sizes(const struct run_spec *spec, struct fault *fault);

/* Checks the number of files only. */
int run_inputs_check_count(size_t count, struct fault *fault);

/* Whether `name` is the code's file, or a path below it. */
bool run_input_is_code(const char *name, const char *code_name);

/* The input files in their original state: a parcel in sealed memory. */
struct run_inputs {
    int fd; /* borrowed; -1: there were none */
    uint64_t code_length;
    uint32_t count;
};

/*
 * Whether `path`, relative to the work directory, names an input file, and the open file `fd` has its
 * size and bytes. An unreadable file counts as changed. Does not move the offset of `fd`, and reads at
 * most the size of that input. All processes of the snippet must be dead.
 */
bool run_inputs_is_unchanged(const struct run_inputs *inputs, const char *path, int fd);

#endif
