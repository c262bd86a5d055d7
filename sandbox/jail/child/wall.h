/*
 * Leaves walls out, for tests that show the effect of each. A build with -Dwithout=FILE defines
 * JAIL_WITHOUT, " name name "; any other build has every wall.
 *
 * Side: child.
 */
#ifndef SANDBOX_JAIL_CHILD_WALL_H
#define SANDBOX_JAIL_CHILD_WALL_H

#ifdef JAIL_WITHOUT

#include <stdbool.h>
#include <string.h>

static inline bool wall_is_left_out(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = JAIL_WITHOUT; (at = strstr(at, name)) != NULL; at += length)
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}
#define WALL_IS_LEFT_OUT(name) wall_is_left_out(name)

#else
#define WALL_IS_LEFT_OUT(name) ((void)(name), 0)
#endif

/* A wall that is part of a step: its value (flags or an expression), or 0 if left out. */
#define WALL(name, value) (WALL_IS_LEFT_OUT(#name) ? 0 : (value))

#endif
