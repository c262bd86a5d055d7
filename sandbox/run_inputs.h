/*
 * The input files of a run: what they may be called, and whether they are still what they were.
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

/* The first of these checks, for who has only counted the files. */
int run_inputs_check_count(size_t count, struct fault *fault);

/* Whether a name is that of the code's file, or leads through it. */
bool run_input_is_code(const char *name, const char *code_name);

/* The input files as the run got them: the parcel in sealed memory, which nobody can change. */
struct run_inputs {
    int fd; /* borrowed; -1: there were none */
    uint64_t code_length;
    uint32_t count;
};

/*
 * Whether `path`, relative to the work directory, is the name of an input file, and the open file `fd`
 * still has the same size and bytes. What cannot be read is taken for changed. The offset of `fd` stays.
 * It reads at most the size of that input; the snippet must not run any more.
 */
bool run_inputs_is_unchanged(const struct run_inputs *inputs, const char *path, int fd);

#endif
