/*
 * Parses the host's package sources to find its Debian archive: mirror, keyring and policy.
 *
 * Parses both formats of sources.list(5), since apt cannot tell: `apt-get indextargets` shows no
 * keyring, and before the first `apt-get update` nothing at all. Pure functions on text. Side:
 * parent.
 */
#ifndef IMAGES_BUILD_SOURCES_H
#define IMAGES_BUILD_SOURCES_H

#include "sandbox/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

#define SOURCES_TEXT_MAX (1 << 20) /* of one file */

/* One archive and suite that offers binary packages of component main. */
struct source {
    char *uri;     /* without a trailing slash */
    char *suite;   /* "bookworm-updates" */
    char *options; /* deb822 fields about trust, each line with its newline, or "" */
};

struct source_list {
    struct source *items; /* owned */
    size_t count;
};

void source_list_release(struct source_list *list);

/* Adds the sources of a file of either format; unknown entries are skipped. 0 or -ENOMEM. */
int sources_parse_deb822(struct source_list *list, const char *text);
int sources_parse_lines(struct source_list *list, const char *text);

/* The sources that belong to Debian's own archive; pointers into the list, NULL if absent. */
struct debian_archive {
    const struct source *main;
    const struct source *updates;
    const struct source *security;
};

/*
 * `origins` is the output of `apt-get indextargets`, lines "ORIGIN URI SUITE", or "". It shows
 * which sources have a signed Release file of origin Debian. Without it, names decide.
 */
struct debian_archive sources_choose(const struct source_list *list, const char *origins);

/* Writes a deb822 file that offers `suite` and its updates from that archive. As buffer_append. */
int sources_write(const struct debian_archive *archive, const char *suite, const char *architecture,
                  struct buffer *text);

#endif
