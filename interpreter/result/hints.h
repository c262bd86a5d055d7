/*
 * Advice on mistakes that models make here, read off the end of a failed program's stderr: using a name of
 * an earlier call, importing what is not installed, and what else enum hint_kind has.
 *
 * Only models get it. A person at `run` has written one whole program and knows the machine.
 *
 * Side: parent.  The text comes from the snippet and is not trusted: a name is used only if it is a
 * plain identifier or package name of bounded length. At worst a snippet fools its own author.
 */
#ifndef INTERPRETER_RESULT_HINTS_H
#define INTERPRETER_RESULT_HINTS_H

#include "images/store/catalog.h"
#include "sandbox/base/buffer.h"
#include "sandbox/result.h"

#include <stdbool.h>

#define HINT_NAME_MAX 64 /* longer names get no hint */

enum hint_kind {
    HINT_NONE,
    HINT_UNDEFINED,     /* a name that may have been defined in an earlier call */
    HINT_NOT_INSTALLED, /* a module or package */
    HINT_NOTEBOOK,      /* what works in a session: notebook_advice.h */
    HINT_ADVICE,        /* what works nowhere: the same */
    HINT_STDIN,         /* it read its stdin, which has no more */
    HINT_PLACE,         /* it used a path where nothing can be written */
    HINT_NETWORK,       /* it looked up a name of a host */
};

struct hint {
    enum hint_kind kind;
    char name[HINT_NAME_MAX +
              1]; /* of what is not installed: "cv2", "google.genai", "@scope/name" */
    /* Static, of the tables of what is known; NULL for other names, which may be mistyped. */
    const char *options; /* of `images add` */
    const char *npm;     /* a package of npm */
    const char *note;    /* why it cannot be added, or what to know of it */
    const char *advice; /* HINT_NOTEBOOK, HINT_ADVICE: static */
};

/* What the result of a run of the language calls for. */
struct hint hint_find(enum language_id language, const struct run_result *result);

/* What the hint needs to know of the image that the program ran on. */
struct hint_image {
    const char *name; /* NULL: it cannot be added to */
    const char *summary; /* what is installed; NULL or "": not known */
    bool has_sessions; /* calls can share names */
    bool has_network;
};

/* Appends the hint, a line or two with their newlines. 0 or a negative errno of buffer_append(). */
int hint_write(const struct hint *hint, const struct hint_image *image, struct buffer *text);

/*
 * Appends "Installed: ...", from the summary of an image, with at most LIBRARIES_SHOWN_MAX bytes of
 * it. 0 or a negative errno of buffer_append().
 */
int hint_write_installed(const char *summary, struct buffer *text);

#endif
