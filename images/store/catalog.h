/*
 * The catalog: the images that `fetch` can make: those of this table, and of languages that are files.
 *
 * Side: parent; linked by both programs.
 */
#ifndef IMAGES_STORE_CATALOG_H
#define IMAGES_STORE_CATALOG_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>

#define AGENT_IMAGE "agent" /* the one for all languages */
#define NODE_MAJOR "24" /* the current line with long-term support */

/* Files of the node image that hold the versions of their packages. */
#define NODE_RECORD "usr/share/doc/node/package.json"
#define NPM_RECORD "usr/lib/node_modules/npm/package.json"
#define GENAI_RECORD "node_modules/@google/genai/package.json"

/* A version to list in the summary of a finished image. */
struct version_item {
    const char *label; /* "numpy" */
    const char *package; /* its Debian package, or NULL */
    const char *record; /* glob(7) of a package.json or .dist-info, looked at first; or NULL */
};

/* How to make an image from packages. */
struct recipe {
    const char *name; /* of the image */
    const char *summary; /* one line for people */
    const char *const
        *packages; /* from Debian; NULL: it comes from a registry, and has a reference */
    const char *const *left_out; /* dependencies that are useless in a sandbox */
    const char *const *pip; /* from pip's index, if it can be reached; or NULL */
    const char *const *pruned; /* with `pip`: what nobody needs, as glob(7); or NULL */
    const struct version_item *versions; /* ends with a label of NULL */
    const struct version_item *libraries; /* further ones; or NULL */
    const char *const *prepare; /* a command that finishes it; or NULL */
    const char *reference; /* a similar image in a registry, for hosts without apt; or NULL */
    bool python; /* compile its modules */
    bool fonts; /* make matplotlib's list of them */
    bool node; /* add Node.js and npm packages */
};

/* Adds those of languages: language_files_load(). Once. 0, or a negative errno with a fault. */
int catalog_load(struct fault *fault);

/* All recipes `fetch` knows, in the order in which they are shown. */
const struct recipe *recipe_list(size_t *ret_count);
const struct recipe *recipe_find(const char *name);

/* The one of the image that a language of this name or alias runs on; NULL: there is no such language, or no such recipe. */
const struct recipe *recipe_of_language(const char *name);

#endif
