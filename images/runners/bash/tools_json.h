/*
 * What `tools` reads of JSON that the server has written: strings of objects. No byte behind the end is read, whatever the text
 * is.
 *
 * No C library. Side: child.  Source: RFC 8259.
 */
#ifndef IMAGES_RUNNERS_BASH_TOOLS_JSON_H
#define IMAGES_RUNNERS_BASH_TOOLS_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Borrowed text. */
struct json_span {
    const char *at, *end;
};

/* What is between the brackets of an array or object: json_next() takes it apart. */
struct json_span json_inside(struct json_span container);

/* Takes the next value off, or the next name of an object. False: there is none. */
bool json_next(struct json_span *list, struct json_span *ret_value);

/*
 * The string that an object has by a name, in UTF-8, as far as there is room, without a NUL. Its length, at most `room`; 0: it has
 * none.
 */
size_t json_string_of(struct json_span object, const char *name, char *text, size_t room);

/* Whether a text has each of the words, which spaces separate; small and capital letters of ASCII are the same. */
bool text_has_words(struct json_span text, const char *words);

#endif
