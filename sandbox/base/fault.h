/*
 * A fault: why an operation of ours failed, in a sentence for people.
 *
 * The error rule of this project: a function returns 0, or a negative errno with a fault. The fault
 * is filled once, where the error began; callers pass both on unchanged. A positive return is a
 * documented refusal of that function. A snippet's mistakes are results, never faults.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_FAULT_H
#define SANDBOX_BASE_FAULT_H

#include <stddef.h>

#define FAULT_TEXT_MAX 2048

struct fault {
    const char *id; /* for programs: "mount_proc"; static; NULL: none */
    /* The operation, its object, the cause and the remedy; "" if there is no fault. */
    char text[FAULT_TEXT_MAX];
};

/*
 * Fills the fault with the formatted sentence, if it is still empty, and returns -error. `error` is
 * a positive errno; if it is the cause, name it in the sentence with %m or strerror (errno is
 * `error` during formatting). `fault` may be NULL. The text is truncated to FAULT_TEXT_MAX - 1
 * bytes and made safe for a terminal (utf8_make_plain()), because it may contain untrusted text.
 * For EMFILE and ENFILE the remedy is added.
 */
int fault_set(struct fault *fault, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives the fault an id, unless it has one. `fault` may be NULL and may be empty. */
static inline void fault_identify(struct fault *fault, const char *id)
{
    if (fault != NULL && fault->id == NULL)
        fault->id = id;
}

/* Prefixes the text of a filled fault with "context: ". */
void fault_prefix(struct fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
