/*
 * Finds the links that update-alternatives(1) would make, by parsing maintainer scripts without
 * running them. Pure functions on text. Side: any.
 */
#ifndef IMAGES_BUILD_ALTERNATIVES_H
#define IMAGES_BUILD_ALTERNATIVES_H

#include <stddef.h>

/* One link: LINK -> /etc/alternatives/NAME -> PATH. The texts are owned by the list. */
struct alternative {
    char *link;
    char *name;
    char *path;
    char *master; /* the name of its master alternative; its own name for a master */
    long priority;
};

struct alternative_list {
    struct alternative *items; /* owned */
    size_t count;
};

void alternative_list_release(struct alternative_list *list);

/*
 * Adds the links of all commands `update-alternatives --install LINK NAME PATH PRIORITY [--slave
 * ...]` in a script. Of two for one name the higher priority wins, with its slaves; the first, if
 * equal. Commands that need shell expansion ($, `, *) are skipped. 0 or -ENOMEM.
 */
int alternatives_parse(struct alternative_list *list, const char *script);

#endif
