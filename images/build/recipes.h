/*
 * How the images of the catalog are made: the packages of each.  Constant data, one entry a recipe.
 * Side: parent.
 */
#ifndef IMAGES_BUILD_RECIPES_H
#define IMAGES_BUILD_RECIPES_H

#include <stdbool.h>

/* Something whose version the summary gives. */
struct summary_item {
    const char *label;     /* "numpy" */
    const char *package;   /* Debian package whose version it is, or NULL */
    const char *record;  /* glob(7) of a package.json or .dist-info, looked at first; or NULL */
};

struct debian_recipe {
    const char *name;
    const char *const *packages;
    const char *const *left_out; /* their dependants work without them in a jail */
    const char *const *pip; /* from pip's index, where that can be reached; or NULL */
    const struct summary_item *summary; /* ends with a label of NULL */
    bool python; /* compile its modules */
    bool fonts;  /* make matplotlib's list of them */
    bool node;                   /* add Node.js and npm packages */
    const char *reference; /* an image of a registry, for hosts without Debian packages; or NULL */
};

/* NULL when there is none of that name; each recipe of the catalog has one. */
const struct debian_recipe *debian_recipe_find(const char *name);

/* What a node image has instead of the npm packages, on a host without npm. */
extern const char *const debian_node_packages[];

#endif
