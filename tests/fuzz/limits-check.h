/*
 * What any way of setting things must keep to: for the harnesses of settings.
 */
#ifndef TESTS_FUZZ_LIMITS_CHECK_H
#define TESTS_FUZZ_LIMITS_CHECK_H

#include "interpreter/settings/setting_table.h"

/* A member of `settings` is as it is by default, or within what the table allows; or aborts. */
void limits_check(const struct settings *settings);

/* Every variable for snippets has a name and fits its bounds, and the sum is right; or aborts. */
void environment_check(const struct environment *environment);

#endif
