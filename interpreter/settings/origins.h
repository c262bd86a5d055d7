/*
 * Where the value of each setting comes from: a fault about a value should name what is to be changed.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_ORIGINS_H
#define INTERPRETER_SETTINGS_ORIGINS_H

#include "sandbox/base/fault.h"
#include "sandbox/base/options.h"

#include <stdbool.h>
#include <stddef.h>

/* In the order in which they count. */
enum origin {
    ORIGIN_DEFAULT = 0,
    ORIGIN_CONFIGURATION = 1 << 0,
    ORIGIN_VARIABLE = 1 << 1,
    ORIGIN_OPTION = 1 << 2,
};

/* One setting that is not the default. */
struct setting_origin {
    const struct option *option;
    unsigned origins; /* bits of enum origin; several for settings that add up */
};

struct origins {
    struct setting_origin *list; /* owned */
    size_t count;                /* at most one for each setting */
};

void origins_release(struct origins *origins);

/*
 * Notes that the setting of the option has a value from there, in place of that of another origin or, if they add
 * up, beside it. 0 or -ENOMEM with a fault.
 */
int origins_note(struct origins *origins, const struct option *option, enum origin origin,
                 bool adds_up, struct fault *fault);

/* The bits of that setting; ORIGIN_DEFAULT if nothing set it. */
unsigned origins_of(const struct origins *origins, const struct option *option);

#endif
