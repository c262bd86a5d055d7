#include "skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/*
 * In place of cmocka's own, which libcmocka calls through the table of dynamic symbols. cmocka before 1.1.6
 * reports a skipped test as "not ok", which meson counts as a failure. In TAP it is "ok ... # SKIP":
 * https://testanything.org/tap-specification.html, "Skipping tests".
 */
void print_message(const char *const format, ...)
{
    static const char negation[] = "not ";
    bool is_skip = strncmp(format, negation, strlen(negation)) == 0 && strstr(format, "# SKIP");
    va_list arguments;
    va_start(arguments, format);
    vprintf(is_skip ? format + strlen(negation) : format, arguments);
    va_end(arguments);
    fflush(stdout);
}

void skip_because(const char *reason)
{
    print_message("# %s\n", reason);
    skip();
}
