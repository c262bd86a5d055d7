/*
 * The links that update-alternatives(1) would make, read from the text of maintainer scripts, which
 * are never run.  Pure functions on text.  Side: any.
 */
#ifndef IMAGES_BUILD_ALTERNATIVES_H
#define IMAGES_BUILD_ALTERNATIVES_H

#include <stddef.h>

/* One link: LINK -> /etc/alternatives/NAME -> PATH. The texts are owned by the list. */
struct alternative {
    char *link;
    char *name;
    char *path;
    char *master; /* the name of the alternative that it goes with; its own for a master */
    long priority;
};

struct alternative_list {
    struct alternative *items; /* owned */
    size_t count;
};

void alternative_list_release(struct alternative_list *list);

/*
 * Adds what the commands `update-alternatives --install LINK NAME PATH PRIORITY [--slave ...]` of a
 * script say. Of two for one name the higher priority wins, with its slaves; the earlier one if
 * they are equal. Commands with words for a shell to expand ($, `, *) are skipped. 0 or -ENOMEM.
 */
int alternatives_parse(struct alternative_list *list, const char *script);

#endif
