#include "images/store/catalog.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct language languages[] = {
#define LANGUAGE(id, name_, title_, image_, ...)                                                   \
    [LANGUAGE_##id] = {.name = name_, .title = title_, .image = image_, __VA_ARGS__},
#include "images/store/languages.def"
#undef LANGUAGE
};

/* apt does not install essential packages by itself, so they are listed here. */
#define BASE                                                                                       \
    "base-files", "base-passwd", "bash", "coreutils", "dash", "sed", "grep", "findutils", "mawk",  \
        "tar", "gzip", "libc-bin", "ca-certificates", "netbase", "tzdata", "media-types"

#define PIP_RECORD(name) "usr/local/lib/python3*/dist-packages/" name "-*.dist-info"

/* Used only to install packages and start services: neither happens in a jail. */
#define SYSTEM "dpkg", "debconf", "init-system-helpers", "sysvinit-utils", "lsb-base", "perl-base"

static const struct recipe recipes[] = {
    {
        .name = "python",
        .summary =
            "Python 3.13 with numpy, pandas, matplotlib, scikit-learn, requests, pip and google-genai",
        .packages =
            WORDS(BASE, "python3", "libopenblas0-pthread", "python3-numpy", "python3-pandas",
                  "python3-scipy", "python3-matplotlib", "python3-sklearn", "python3-requests",
                  "python3-pip", "python3-yaml", "fonts-dejavu-core"),
        /* There is no display; the others are for compilers and browsers. */
        .left_out = WORDS(SYSTEM, "x11-common", "python3-tk", "python3-pil.imagetk", "blt",
                          "tk8.6-blt2.5", "libjs-jquery", "libjs-jquery-ui", "unicode-data",
                          "python3-pythran", "g++", "cpp", "gcc"),
        .pip = WORDS("google-genai"),
        .versions =
            (const struct version_item[]){
                {"Python", "python3", NULL},
                {"numpy", "python3-numpy", NULL},
                {"pandas", "python3-pandas", NULL},
                {"scipy", "python3-scipy", NULL},
                {"matplotlib", "python3-matplotlib", NULL},
                {"scikit-learn", "python3-sklearn", NULL},
                {"sympy", "python3-sympy", NULL},
                {"pillow", "python3-pil", NULL},
                {"requests", "python3-requests", PIP_RECORD("requests")},
                {"pyyaml", "python3-yaml", NULL},
                {"pip", "python3-pip", NULL},
                {"google-genai", NULL, PIP_RECORD("google_genai")},
                {0},
            },
        .python = true,
        .fonts = true,
    },
    {
        .name = "python-slim",
        .summary = "Python 3.13 and its standard library",
        .packages = WORDS(BASE, "python3"),
        .left_out = WORDS(SYSTEM),
        .versions = (const struct version_item[]){{"Python", "python3", NULL}, {0}},
        .python = true,
        .reference = "docker.io/library/python:3.13-slim",
    },
    {
        .name = "node",
        .summary = "Node.js " NODE_MAJOR " with npm and @google/genai",
        .packages = WORDS(BASE, "libstdc++6", "libgcc-s1", "libatomic1"),
        .left_out = WORDS(SYSTEM),
        .versions =
            (const struct version_item[]){
                {"Node.js", "nodejs", NODE_RECORD},
                {"npm", "npm", NPM_RECORD},
                {"@google/genai", NULL, GENAI_RECORD},
                {0},
            },
        .node = true,
        .reference = "docker.io/library/node:" NODE_MAJOR "-slim",
    },
    {
        .name = "bash",
        .summary = "Bash with coreutils, grep, sed, gawk, findutils, diffutils, jq, bc and zip",
        .packages = WORDS(BASE, "gawk", "diffutils", "patch", "jq", "bc", "file", "procps",
                          "bsdextrautils", "xz-utils", "bzip2", "zip", "unzip"),
        .left_out = WORDS(SYSTEM),
        .versions =
            (const struct version_item[]){
                {"Bash", "bash", NULL},
                {"coreutils", "coreutils", NULL},
                {"grep", "grep", NULL},
                {"sed", "sed", NULL},
                {"gawk", "gawk", NULL},
                {"findutils", "findutils", NULL},
                {"diffutils", "diffutils", NULL},
                {"jq", "jq", NULL},
                {"bc", "bc", NULL},
                {0},
            },
    },
};

const struct language *language_list(size_t *ret_count)
{
    *ret_count = ARRAY_LENGTH(languages);
    return languages;
}

enum language_id language_id(const struct language *language)
{
    return (enum language_id)(language - languages);
}

static bool words_contain(const char *const *words, const char *word)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

const struct language *language_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(languages); i++)
        if (strcmp(languages[i].name, name) == 0 || words_contain(languages[i].other_names, name))
            return &languages[i];
    return NULL;
}

const char *language_names(char *text, size_t size)
{
    size_t count = ARRAY_LENGTH(languages);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0 ? "" : (i + 1 < count ? ", " : " or "), languages[i].name);
    return text;
}

const struct recipe *recipe_list(size_t *ret_count)
{
    *ret_count = ARRAY_LENGTH(recipes);
    return recipes;
}

const struct recipe *recipe_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(recipes); i++)
        if (strcmp(recipes[i].name, name) == 0)
            return &recipes[i];
    return NULL;
}
