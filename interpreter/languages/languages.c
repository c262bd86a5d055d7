#include "interpreter/languages/language.h"

#include "images/store/catalog.h"
#include "sandbox/base/spelling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct language *languages[LANGUAGES_MAX] = {
#define LANGUAGE(name, place) &language_##name,
    LANGUAGES
#undef LANGUAGE
};

size_t language_count = LANGUAGE_COUNT;

const struct language *const language_of_shell_lines = &language_bash;
const char *const language_shells[] = {"bash", "sh", NULL};

size_t language_place(const struct language *language)
{
    size_t place = 0;
    while (place + 1 < language_count && languages[place] != language)
        place++;
    return place;
}

static bool words_contain(const char *const *words, const char *word)
{
    for (; words != NULL && *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

const struct language *language_find(const char *name)
{
    for (size_t i = 0; i < language_count && languages[i] != NULL; i++)
        if (strcmp(languages[i]->name, name) == 0 || words_contain(languages[i]->other_names, name))
            return languages[i];
    return NULL;
}

const char *language_guess(const char *word)
{
    struct spelling spelling = spelling_of(word);
    for (size_t i = 0; i < language_count && languages[i] != NULL; i++)
        spelling_offer(&spelling, languages[i]->name);
    return spelling.nearest;
}

static const char *list_names(char text[LANGUAGE_NAMES_SIZE], bool (*is_meant)(size_t place))
{
    size_t used = 0, meant = 0, listed = 0;
    text[0] = '\0';
    for (size_t i = 0; i < language_count && languages[i] != NULL; i++)
        meant += is_meant(i);
    for (size_t i = 0; i < language_count && used < LANGUAGE_NAMES_SIZE; i++) {
        if (!is_meant(i))
            continue;
        const char *before = listed == 0 ? "" : listed + 1 < meant ? ", " : " or ";
        used += (size_t)snprintf(text + used, LANGUAGE_NAMES_SIZE - used, "%s%s", before,
                                 languages[i]->name);
        listed++;
    }
    return text;
}

static bool is_any(size_t place)
{
    (void)place;
    return true;
}

static bool has_sessions(size_t place)
{
    return languages[place] != NULL && languages[place]->session != NULL;
}

const char *language_names(char text[LANGUAGE_NAMES_SIZE])
{
    return list_names(text, is_any);
}

const char *language_session_names(char text[LANGUAGE_NAMES_SIZE])
{
    return list_names(text, has_sessions);
}

static struct language *make_language(const struct language_file *file)
{
    struct language *language = calloc(1, sizeof(*language));
    char *description = NULL, *code = NULL;
    if (language == NULL ||
        asprintf(&description, "Runs a program in %s in a sandbox and returns its output.",
                 file->title) < 0 ||
        asprintf(&code, "The whole program, run as `%s`.", file->file) < 0) {
        free(language);
        free(description);
        return NULL;
    }
    *language = (struct language){
        .name = file->name,
        .title = file->title,
        .image = file->image,
        .optional = true,
        .is_data = true,
        .is_own = file->origin != NULL,
        .extensions = file->extensions,
        .other_names = file->aliases,
        .http_names = file->http_names[0] != NULL ? file->http_names : NULL,
        .code_name = file->file,
        .argv = file->run,
        .compile = file->compile[0] != NULL ? file->compile : NULL,
        .compile_ms = file->compile_seconds * 1000,
        .environment = file->environment,
        .probe = file->hello,
        .probe_prints = file->prints,
        .description = description,
        .libraries = "",
        .code = code,
        .example = file->hello,
        .silent_hint = "To see a value, print it.",
    };
    return language;
}

static const struct language *find_with_file(const char *name)
{
    const struct language *language = language_find(name);
    return language != NULL && !language->is_data ? language : NULL;
}

/* In /run_code: language.http_names. */
static const struct language *find_with_file_there(const char *name)
{
    for (size_t i = 0; i < LANGUAGE_COUNT && languages[i] != NULL; i++)
        if (words_contain(languages[i]->http_names, name))
            return languages[i];
    return find_with_file(name);
}

static const struct language *find_with_extension(const char *extension)
{
    for (size_t i = 0; i < LANGUAGE_COUNT && languages[i] != NULL; i++)
        if (words_contain(languages[i]->extensions, extension))
            return languages[i];
    return NULL;
}

int language_check_names(const struct language_file *file, struct fault *fault)
{
    const char *taken = file->name;
    const struct language *owner = find_with_file_there(file->name);
    for (size_t i = 0; owner == NULL && file->aliases[i] != NULL; i++)
        owner = find_with_file(taken = file->aliases[i]);
    for (size_t i = 0; owner == NULL && file->http_names[i] != NULL; i++)
        owner = find_with_file_there(taken = file->http_names[i]);
    const char *kind = owner != NULL ? "a name" : "an extension";
    for (size_t i = 0; owner == NULL && file->extensions[i] != NULL; i++)
        owner = find_with_extension(taken = file->extensions[i]);
    return owner == NULL ? 0
                         : fault_set(fault, EEXIST, "%s: \"%s\" is %s of %s: choose another",
                                     file->origin != NULL ? file->origin : file->name, taken, kind,
                                     owner->title);
}

int languages_load(struct fault *fault)
{
    int r = catalog_load(fault);
    const struct language_file *const *file = language_files();
    for (; r == 0 && *file != NULL; file++) {
        r = language_check_names(*file, fault);
        if (r < 0)
            break;
        languages[language_count] = make_language(*file);
        if (languages[language_count] == NULL)
            return fault_set(fault, ENOMEM, "reading languages: %m");
        language_count++;
    }
    return r;
}
