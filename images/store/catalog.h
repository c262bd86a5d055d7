/*
 * The catalog: which images we know how to make, and which languages run on them.
 *
 * Constant data. A new language is one entry of languages[], with a row of its image in the table of
 * settings and one in that of tools; a new image one of recipes[].
 * Side: parent; linked by both programs.
 */
#ifndef IMAGES_STORE_CATALOG_H
#define IMAGES_STORE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

enum language_id {
    LANGUAGE_PYTHON,
    LANGUAGE_JAVASCRIPT,
    LANGUAGE_BASH,
    LANGUAGE_COUNT,
};

struct language {
    const char *name;               /* "python" */
    const char *title;              /* "Python" */
    const char *image;              /* image it runs on unless the operator names another */
    const char *code_name;          /* "main.py" */
    const char *const *argv;        /* {"python3", "-u", "main.py", NULL} */
    bool may_be_warm;              /* reads its code once: run_spec.may_be_warm */
    const char *probe;              /* a program that prints "ok" and a newline */
    const char *const *extensions;  /* {".py", NULL}: how `run FILE` tells the language */
    const char *const *other_names; /* {"py", NULL}: what people also call it */
    bool optional; /* not spoken of where its image is not there */
};

/* All languages, in the order in which they are shown. */
const struct language *language_list(size_t *ret_count);
enum language_id language_id(const struct language *language); /* one of them */
/* By name or a common other name ("py", "js", "node"); NULL when unknown. */
const struct language *language_find(const char *name);

struct recipe {
    const char *name;    /* "python" */
    const char *summary; /* one line for people */
};

/* All recipes `fetch` knows, in the order in which they are shown. */
const struct recipe *recipe_list(size_t *ret_count);
const struct recipe *recipe_find(const char *name);

#endif
