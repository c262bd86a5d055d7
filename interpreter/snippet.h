/*
 * Code to run, and its language.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SNIPPET_H
#define INTERPRETER_SNIPPET_H

#include "interpreter/languages/language.h"
#include "sandbox/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compiled;

/* Of runs that are to share one compiled program. It outlives them all. */
struct compile_share {
    const struct run_input *inputs; /* borrowed; for the compiler, in place of those of a run */
    size_t input_count;
    struct compiled
        *compiled; /* owned, to be dropped; NULL: the first of them is still waiting for it */
    void (*ready)(
        struct compile_share *share); /* called once it is there; it may start further runs */
};

/* Borrowed for a call. */
struct snippet {
    const struct language *language;
    const char *image; /* its name; NULL: as the settings say */
    const char *code;
    size_t length;
    int64_t wall_ms; /* how long it may run; 0: as the settings say */
    uint64_t memory_bytes; /* less than the settings say; 0: as they say */
    const char *const *arguments; /* of the program, NULL-terminated; or NULL */
    const struct run_input *inputs;
    size_t input_count;
    struct run_stdin stdin_source; /* a descriptor is borrowed for the run: run_spec.h */
    bool joins_output; /* as in run_spec.h; not by workers */
    uint32_t back_to; /* of a session: cell_spec.back_to */
    const struct call_functions *functions; /* of a session that has some: cell_spec.functions */
    int64_t compile_ms; /* how long its compiler may take; 0: as its language says */
    struct compile_share *share; /* or NULL */
    /* For the launcher itself: */
    bool is_for_compiler; /* to be compiled, not run */
    const struct compiled
        *compiled; /* what is run; NULL: its language is not compiled, or it is not yet */
    const char *directory; /* in the jail: where it starts; NULL: beside its code */
    const char
        *program; /* with a directory: the file in the jail that has the code; NULL: none has */
};

/* How long its compiler may take; 0: its language has none. */
static inline int64_t snippet_compile_ms(const struct snippet *snippet)
{
    return snippet->compile_ms > 0 ? snippet->compile_ms : snippet->language->compile_ms;
}

#endif
