/*
 * UTF-8, told apart from bytes that are not.
 *
 * Side: parent.  Source: Unicode 16, 3.9, table 3-7 and definition D93b.
 */
#ifndef SANDBOX_BASE_UTF8_H
#define SANDBOX_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* U+FFFD, which stands for what could not be decoded. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/*
 * The length (1..4) of the well-formed sequence at `data`, or, with *ret_valid false, of the
 * maximal ill-formed part there, which one U+FFFD replaces. `length` is at least 1. Overlong forms,
 * surrogates and values over U+10FFFF are ill-formed.
 */
size_t utf8_step(const char *data, size_t length, bool *ret_valid);

/* How many of the first bytes are well-formed: `length` when all are. */
size_t utf8_valid_length(const char *data, size_t length);

/*
 * Makes text of others fit for a terminal, in place: every byte of a control character (Unicode's
 * Cc: U+0000 to U+001F, U+007F to U+009F) and of what is not UTF-8 becomes '?'. With `lines`, '\n'
 * and '\t' stay.
 */
void utf8_make_plain(char *text, bool lines);

#endif
