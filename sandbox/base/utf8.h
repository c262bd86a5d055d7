/*
 * Distinguishes UTF-8 from other bytes.
 *
 * Side: parent.  Source: Unicode 16, 3.9, table 3-7 and definition D93b.
 */
#ifndef SANDBOX_BASE_UTF8_H
#define SANDBOX_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* U+FFFD, the replacement for bytes that cannot be decoded. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/*
 * The length (1..4) of the well-formed sequence at `data`, or, with *ret_valid false, of the
 * maximal ill-formed part there, to be replaced by one U+FFFD. `length` is at least 1. Overlong
 * forms, surrogates and values over U+10FFFF are ill-formed.
 */
size_t utf8_step(const char *data, size_t length, bool *ret_valid);

/* The length of the well-formed prefix: `length` if all is well-formed. */
size_t utf8_valid_length(const char *data, size_t length);

/*
 * Makes untrusted text safe for a terminal, in place: every byte of a control character (Unicode's
 * Cc: U+0000 to U+001F, U+007F to U+009F) and every byte that is not UTF-8 becomes '?'. With
 * `lines`, '\n' and '\t' are kept.
 */
void utf8_make_plain(char *text, bool lines);

#endif
