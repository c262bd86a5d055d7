/*
 * Advice on two mistakes that models make here, read off the end of a failed program's stderr: using a
 * name of an earlier call, and importing what is not installed.
 *
 * Only models get it. A person at `run` has written one whole program and knows the machine.
 *
 * Side: parent.  The text comes from the snippet and is not trusted: a name is used only if it is a
 * plain identifier or package name of bounded length. At worst a snippet fools its own author.
 */
#ifndef MCP_TOOLS_HINTS_H
#define MCP_TOOLS_HINTS_H

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
};

struct hint {
    enum hint_kind kind;
    char name[HINT_NAME_MAX +
              1]; /* of what is not installed: "cv2", "google.genai", "@scope/name" */
    /* The installer that could add it, an option of `images add`, and its package; or NULL and "". */
    const char *installer;
    char package[HINT_NAME_MAX + 1]; /* safe in a shell */
    const char *advice; /* HINT_NOTEBOOK, HINT_ADVICE: static */
};

/* What the result of a run of the language calls for. */
struct hint hint_find(enum language_id language, const struct run_result *result);

/* What the hint needs to know of the image that the program ran on. */
struct hint_image {
    const char *name; /* NULL: it cannot be added to */
    const char *summary; /* what is installed; NULL or "": not known */
    bool has_sessions; /* calls can share names */
};

/* Appends the hint, a line or two with their newlines. 0 or a negative errno of buffer_append(). */
int hint_write(const struct hint *hint, const struct hint_image *image, struct buffer *text);

/*
 * Appends "Installed: ...", from the summary of an image, with at most LIBRARIES_SHOWN_MAX bytes of
 * it. 0 or a negative errno of buffer_append().
 */
int hint_write_installed(const char *summary, struct buffer *text);

#endif
