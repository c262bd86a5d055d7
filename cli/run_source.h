/*
 * The program of `run`: its language, its code and its stdin, by its path. "-" is our stdin.
 *
 * Side: parent.
 */
#ifndef CLI_RUN_SOURCE_H
#define CLI_RUN_SOURCE_H

#include "interpreter/base/bounds.h"
#include "interpreter/languages/language.h"
#include "interpreter/settings/settings.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/options.h"
#include "sandbox/jail/run_spec.h"

#include <stdbool.h>

#define RUN_SOURCE_PIECE (64 * KIBIBYTE)                /* read at a time */
#define RUN_SOURCE_MAX                                                                             \
    (CODE_MAX + 2 * RUN_SOURCE_PIECE) /* maximum of a buffer for run_source_read() */

/* By its extension; NULL: there is none of that. */
const struct language *run_source_language(const char *path);

/* By the interpreter that its first line names, "#!/usr/bin/env python3"; NULL: none that is known. */
const struct language *run_source_interpreter(const struct buffer *code);

/* Value for apply of an option, whose offset is of a const struct language *: as the value names it. */
int run_source_set_language(void *data, const struct option *option, const char *value,
                            struct fault *fault);

/*
 * Appends the code. With settings, what was opened is held to own_paths_check_opened(). 0, or a negative errno with its
 * fault: EFBIG it is longer than CODE_MAX.
 */
int run_source_read(const struct settings *settings, const char *path, struct buffer *code,
                    struct fault *fault);

/* Chooses what the program reads: our stdin, borrowed, unless the code came from it. 0, or as above. */
int run_source_stdin(const char *path, struct run_stdin *ret_stdin, struct fault *fault);

/* Turns our stdin into its bytes, up to its end; those of a terminal are not read. 0, or as above. */
int run_source_read_stdin(struct run_stdin *source, struct buffer *bytes, struct fault *fault);

#endif
