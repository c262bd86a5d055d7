/*
 * A fault: why we could not do what was asked, in a sentence for a person.
 *
 * The rule of the house: a function returns 0, or a negative errno and fills its fault once, where
 * it began; callers forward both unchanged. A positive return is a documented refusal of that
 * function. What a snippet does wrong is a result, never a fault.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_FAULT_H
#define SANDBOX_BASE_FAULT_H

#include <stddef.h>

#define FAULT_TEXT_MAX 2048

struct fault {
    const char *id; /* for programs: "mount_proc"; static; NULL: it has none */
    /* What was tried, on what, why it failed and what would mend it; "" while there is none. */
    char text[FAULT_TEXT_MAX];
};

/*
 * Fills the fault with the formatted sentence, if it is still empty, and returns -error. `error` is
 * a positive errno; where it is the cause, name it in the sentence with %m or strerror (errno is
 * `error` while formatting). `fault` may be NULL. The text is cut at FAULT_TEXT_MAX - 1 bytes, and
 * made fit for a terminal (utf8_make_plain()): names and words of others are in it. Where
 * descriptors run out, EMFILE or ENFILE, the remedy is added.
 */
int fault_set(struct fault *fault, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Names a fault that has no id yet, filled or not. `fault` may be NULL. */
static inline void fault_identify(struct fault *fault, const char *id)
{
    if (fault != NULL && fault->id == NULL)
        fault->id = id;
}

/* Puts "context: " before a fault that is already there. */
void fault_prefix(struct fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
