#include "images/build/recipes.h"

#include "images/build/npm.h"
#include "sandbox/base/owned.h"

#include <stddef.h>
#include <string.h>

/* Essential packages depend on nobody's asking for them, so they are named here. */
#define BASE                                                                                       \
    "base-files", "base-passwd", "bash", "coreutils", "dash", "sed", "grep", "findutils", "mawk",  \
        "tar", "gzip", "libc-bin", "ca-certificates", "netbase", "tzdata", "media-types"

#define PIP_RECORD(name) "usr/local/lib/python3*/dist-packages/" name "-*.dist-info"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* For installing packages and starting services: neither happens in a jail. */
#define SYSTEM "dpkg", "debconf", "init-system-helpers", "sysvinit-utils", "lsb-base", "perl-base"

static const struct debian_recipe recipes[] = {
    {
        .name = "python",
        .packages =
            WORDS(BASE, "python3", "libopenblas0-pthread", "python3-numpy", "python3-pandas",
                  "python3-scipy", "python3-matplotlib", "python3-sklearn", "python3-requests",
                  "python3-pip", "python3-yaml", "fonts-dejavu-core"),
        /* Windows have no place to open; the rest is a compiler's and a browser's. */
        .left_out = WORDS(SYSTEM, "x11-common", "python3-tk", "python3-pil.imagetk", "blt",
                          "tk8.6-blt2.5", "libjs-jquery", "libjs-jquery-ui", "unicode-data",
                          "python3-pythran", "g++", "cpp", "gcc"),
        .pip = WORDS("google-genai"),
        .summary =
            (const struct summary_item[]){
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
                {NULL, NULL, NULL},
            },
        .python = true,
        .fonts = true,
    },
    {
        .name = "python-slim",
        .packages = WORDS(BASE, "python3"),
        .left_out = WORDS(SYSTEM),
        .summary = (const struct summary_item[]){{"Python", "python3", NULL}, {NULL, NULL, NULL}},
        .python = true,
        .reference = "docker.io/library/python:3.13-slim",
    },
    {
        .name = "node",
        .packages = WORDS(BASE, "libstdc++6", "libgcc-s1", "libatomic1"),
        .left_out = WORDS(SYSTEM),
        .summary =
            (const struct summary_item[]){
                {"Node.js", "nodejs", NODE_RECORD},
                {"npm", "npm", NPM_RECORD},
                {"@google/genai", NULL, GENAI_RECORD},
                {NULL, NULL, NULL},
            },
        .node = true,
        .reference = "docker.io/library/node:" NODE_MAJOR "-slim",
    },
    {
        .name = "bash",
        .packages = WORDS(BASE, "gawk", "diffutils", "patch", "jq", "bc", "file", "procps",
                          "bsdextrautils", "xz-utils", "bzip2", "zip", "unzip"),
        .left_out = WORDS(SYSTEM),
        .summary =
            (const struct summary_item[]){
                {"Bash", "bash", NULL},
                {"coreutils", "coreutils", NULL},
                {"grep", "grep", NULL},
                {"sed", "sed", NULL},
                {"gawk", "gawk", NULL},
                {"findutils", "findutils", NULL},
                {"diffutils", "diffutils", NULL},
                {"jq", "jq", NULL},
                {"bc", "bc", NULL},
                {NULL, NULL, NULL},
            },
    },
};

const char *const debian_node_packages[] = {"nodejs", "npm", NULL};

const struct debian_recipe *debian_recipe_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(recipes); i++)
        if (strcmp(recipes[i].name, name) == 0)
            return &recipes[i];
    return NULL;
}
