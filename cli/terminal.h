/*
 * What people read on a terminal: colours, and long lists made short.
 *
 * Side: parent.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "cli/doctor.h"

#include <stddef.h>

/*
 * Prints a line of doctor's: "ok    python      ran in 21.4 ms". The verdict has a colour where stdout is a
 * terminal that has some (TERM is not "dumb") and NO_COLOR is not set. Source: https://no-color.org.
 */
void terminal_print_finding(enum verdict verdict, const char *what, const char *text);

#define TERMINAL_LIST_MAX 80 /* bytes of a list that is made short */

/*
 * Copies a list with commas, cut after an item where it is longer than TERMINAL_LIST_MAX:
 * "Python 3.13.5; numpy 2.2.4, and 28 more". `size` is above TERMINAL_LIST_MAX + 32.
 */
void terminal_shorten(const char *list, char *ret_text, size_t size);

#endif
