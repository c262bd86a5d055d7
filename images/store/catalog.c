#include "images/store/catalog.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <string.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct language languages[] = {
    [LANGUAGE_PYTHON] =
        {
            .name = "python",
            .title = "Python",
            .image = "python",
            .code_name = "main.py",
            .argv = WORDS("python3", "-u", "main.py"),
            .may_be_warm = true,
            .probe = "print('ok')",
            .extensions = WORDS(".py"),
            .other_names = WORDS("py", "python3"),
        },
    [LANGUAGE_JAVASCRIPT] =
        {
        /*
         * Node tells an ES module from a script by its syntax (on by default since 22.7 and 20.19),
         * so main.js serves for both, top-level await included.
         */
            .name = "javascript",
            .title = "JavaScript",
            .image = "node",
            .code_name = "main.js",
            .argv = WORDS("node", "main.js"),
            .may_be_warm = true,
            .probe = "console.log('ok')",
            .extensions = WORDS(".js", ".mjs", ".cjs"),
            .other_names = WORDS("js", "node"),
        },
    [LANGUAGE_BASH] =
        {
            .name = "bash",
            .title = "Bash",
            .image = "bash",
            .code_name = "main.sh",
            .argv = WORDS("bash", "main.sh"),
            .probe = "echo 'ok'",
            .extensions = WORDS(".sh", ".bash"),
            .other_names = WORDS("sh", "shell"),
            .optional = true,
        },
};

static const struct recipe recipes[] = {
    {
        .name = "python",
        .summary =
            "Python 3.13 with numpy, pandas, matplotlib, scikit-learn, requests, pip and google-genai",
    },
    {.name = "python-slim", .summary = "Python 3.13 and its standard library"},
    {.name = "node", .summary = "Node.js 24 with npm and @google/genai"},
    {
        .name = "bash",
        .summary = "Bash with coreutils, grep, sed, gawk, findutils, diffutils, jq, bc and zip",
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
