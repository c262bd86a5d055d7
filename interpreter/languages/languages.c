#include "interpreter/languages/language.h"

#include "sandbox/base/spelling.h"

#include <stdio.h>
#include <string.h>

const struct language *const languages[LANGUAGE_COUNT] = {
#define LANGUAGE(name, place) &language_##name,
    LANGUAGES
#undef LANGUAGE
};

size_t language_place(const struct language *language)
{
    size_t place = 0;
    while (place + 1 < LANGUAGE_COUNT && languages[place] != language)
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
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        if (strcmp(languages[i]->name, name) == 0 || words_contain(languages[i]->other_names, name))
            return languages[i];
    return NULL;
}

const char *language_guess(const char *word)
{
    struct spelling spelling = spelling_of(word);
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        spelling_offer(&spelling, languages[i]->name);
    return spelling.nearest;
}

const char *language_names(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < LANGUAGE_COUNT && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0 ? "" : (i + 1 < LANGUAGE_COUNT ? ", " : " or "),
                                 languages[i]->name);
    return text;
}
