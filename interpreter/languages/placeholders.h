/*
 * What stands for something else in the words of a language that is data: {class}, {main}, {heap_mb} and {work}.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_LANGUAGES_PLACEHOLDERS_H
#define INTERPRETER_LANGUAGES_PLACEHOLDERS_H

#include "interpreter/languages/main_class.h"

#include <stdint.h>

struct placeholder_values {
    struct main_class of; /* {class}, that the file is named after; {main}, that starts */
    uint64_t heap_mib; /* {heap_mb}: for what a program allocates */
    const char *work; /* {work}: the work directory, from where the program starts */
};

/* How much of that memory is left for a heap: a runtime needs some besides. In MiB, >= 8. */
uint64_t placeholder_heap_mib(uint64_t memory_bytes);

/* The word with their values; the caller owns it. NULL: no memory. */
char *placeholders_fill(const char *word, const struct placeholder_values *values);

#endif
