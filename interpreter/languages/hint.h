/*
 * What the end of a failed program's stderr calls for, and the reading of that.
 *
 * Side: parent.  The text comes from the snippet and is not trusted: a name is used only if it is a
 * plain identifier or package name of bounded length. At worst a snippet fools its own author.
 */
#ifndef INTERPRETER_LANGUAGES_HINT_H
#define INTERPRETER_LANGUAGES_HINT_H

#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>

#define HINT_NAME_MAX 64 /* longer names get no hint */
/* Lines of the end: the error, the mark below the place, the line of the program. */
#define HINT_LINES_MAX 3

#define SPAN_DIGITS "0123456789"
#define SPAN_LOWER "abcdefghijklmnopqrstuvwxyz"
#define SPAN_WORD SPAN_LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" SPAN_DIGITS

enum hint_kind {
    HINT_NONE,
    HINT_UNDEFINED,     /* a name that may have been defined in an earlier call */
    HINT_NOT_INSTALLED, /* a module or package */
    HINT_NOTEBOOK,      /* what works in a session, as in a notebook, and not in a program */
    HINT_ADVICE,        /* what works nowhere */
    HINT_STDIN,         /* it read its stdin, which has no more */
    HINT_PLACE,         /* it used a path where nothing can be written */
    HINT_NETWORK,       /* it looked up a name of a host */
};

struct hint {
    enum hint_kind kind;
    /* Of what is not installed: "cv2", "google.genai", "@scope/name". */
    char name[HINT_NAME_MAX + 1];
    /* Static, of the tables of what is known; NULL for other names, which may be mistyped. */
    const char *options; /* of `images add` */
    const char *npm;     /* a package of npm */
    const char *note;    /* why it cannot be added, or what to know of it */
    const char *advice; /* HINT_NOTEBOOK, HINT_ADVICE: static */
};

/* Bytes that are read from their front; borrowed. */
struct hint_span {
    const char *at, *end;
};

/* HINT_UNDEFINED, unless no earlier call could have defined the name. */
struct hint hint_of_undefined(const char *name);

/* Of a line that is refused: HINT_ADVICE if it is a program that was escaped once too often, "import os\nprint(1)". */
struct hint hint_of_escapes(struct hint_span line);

/* Moves behind the text: if it is in front, or anywhere. False: it is not. */
bool span_skip(struct hint_span *span, const char *text);
bool span_skip_to(struct hint_span *span, const char *text);

bool span_is(struct hint_span span, const char *text);
bool span_begins_with(struct hint_span span, const char *text);
bool span_begins_with_any(struct hint_span span, const char *const *texts); /* NULL-terminated */
bool span_has(struct hint_span span, const char *text);
bool span_is_blank(struct hint_span span);
struct hint_span span_without_indentation(struct hint_span span);

/* Takes the bytes up to `mark` as a name, which has none but those of `allowed`. */
bool span_take_name(struct hint_span *span, char mark, const char *allowed,
                    char ret_name[HINT_NAME_MAX + 1]);

/* Takes the last line off the end; or the last one that is not blank. */
struct hint_span span_take_line(struct hint_span *text);
struct hint_span span_take_written_line(struct hint_span *text);

/*
 * The last lines that are not blank, the last one first, without the blanks at their ends. `is_about` tells of lines
 * about an error to leave out; NULL: of none. How many there are; further ones are empty.
 */
size_t span_last_lines(struct hint_span text, bool (*is_about)(struct hint_span line),
                       struct hint_span ret_lines[HINT_LINES_MAX]);

#endif
