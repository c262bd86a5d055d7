/*
 * Quantities as people write them, and as people are told them.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_QUANTITY_H
#define INTERPRETER_SETTINGS_QUANTITY_H

#include "sandbox/base/fault.h"

#include <stdint.h>

/* What a number may be, and how a fault calls it. */
struct quantity {
    const char *what; /* "--memory" */
    const char *unit; /* "seconds", "processors"; NULL where the number counts what it is of */
    uint64_t low, high;
};

/* A whole number. 0, or -EINVAL with a fault that names the quantity and its range. */
int quantity_read_integer(const struct quantity *quantity, const char *text, uint64_t *ret_number,
                          struct fault *fault);

/* Bytes: a whole number, with K, M, G or T (or KB, KiB ...: all count in 1024) behind it, small or capital. */
int quantity_read_size(const struct quantity *quantity, const char *text, uint64_t *ret_bytes,
                       struct fault *fault);

/* A number, maybe with a fraction, as thousandths, rounded; the range is in thousandths too. */
int quantity_read_thousandths(const struct quantity *quantity, const char *text,
                              uint64_t *ret_thousandths, struct fault *fault);

/* A time in milliseconds: a number of seconds, or with the unit ms, s, m, min or h behind it. */
int quantity_read_duration(const struct quantity *quantity, const char *text,
                           uint64_t *ret_milliseconds, struct fault *fault);

/* For people and models: 2500 is 2.5. */
static inline double quantity_seconds(int64_t milliseconds)
{
    return (double)milliseconds / 1000;
}

struct quantity_size_text {
    char text[32];
};

/* "512 MiB", "1000 bytes": exact, in the largest unit that divides it. */
struct quantity_size_text quantity_size_text(uint64_t bytes);
/* "511.9 MiB": to a tenth, in the largest unit that it fills. */
struct quantity_size_text quantity_size_about_text(uint64_t bytes);
/* "31 MiB", "1.2 KiB": exact where that is short. */
struct quantity_size_text quantity_size_short_text(uint64_t bytes);

#endif
