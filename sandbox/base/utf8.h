/*
 * Distinguishes UTF-8 from other bytes.
 *
 * Side: parent.  Source: Unicode 16, 3.9, table 3-7 and definition D93b.
 */
#ifndef SANDBOX_BASE_UTF8_H
#define SANDBOX_BASE_UTF8_H

#include "sandbox/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The code point of a well-formed sequence. */
uint32_t utf8_decode(const char *bytes, size_t length);

/*
 * Whether a well-formed sequence is a character with a shape of its own, or a space: not a control character,
 * an invisible one, one that changes the direction of text, or one that ends a line (Unicode's Cc, Cf, Zl, Zp).
 */
bool utf8_is_visible(const char *bytes, size_t length);

/*
 * Makes untrusted text safe for a terminal and for people, in place: every byte of a character that is not visible
 * and every byte that is not UTF-8 becomes '?'. With `lines`, '\n' and '\t' are kept.
 */
void utf8_make_plain(char *text, bool lines);

/*
 * Names from outside (of snippets, clients, archives) in our own words: what a terminal, a client or a person could
 * misread is written as an escape, so that no name ends a line, turns text around or looks like another one.
 *
 *     a\nb  \x1b[2J  \u202e  \xff  and \\ for a backslash
 */
#define VISIBLE_NAME_MAX                                                                           \
    100 /* bytes of a name in a sentence; escapes are up to four times as long */

/* As buffer_append(). */
int visible_append(struct buffer *text, const char *name, size_t length);

struct visible {
    char text[4 * VISIBLE_NAME_MAX + sizeof("...")];
};

/* The beginning of a name, for one sentence; with "..." if there is more of it. */
struct visible visible_name(const char *name);

#endif
