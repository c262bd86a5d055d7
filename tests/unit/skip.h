/*
 * Skips the running test of cmocka, and says why.
 */
#ifndef TESTS_UNIT_SKIP_H
#define TESTS_UNIT_SKIP_H

/* Does not return. `reason` is printed as a comment of TAP before the test's line. */
void skip_because(const char *reason);

#endif
