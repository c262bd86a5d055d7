#include "images/build/alternatives.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 256

/* The words of one simple command; their text is owned by `text`. */
struct alternatives_command {
    const char *words[WORDS_MAX];
    size_t count;
    char *text;
};

static void alternative_release(struct alternative *alternative)
{
    free(alternative->link);
    free(alternative->name);
    free(alternative->path);
    free(alternative->master);
}

void alternative_list_release(struct alternative_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        alternative_release(&list->items[i]);
    free(list->items);
    *list = (struct alternative_list){0};
}

/* Whether the character ends a command outside of quotes. */
static bool ends_command(char c)
{
    return c == '\0' || c == '\n' || c == ';' || c == '&' || c == '|' || c == ')';
}

/* Copies one word without its quotes to `to`; returns where it ended in the script. */
static const char *word_read(const char *from, char **to)
{
    char quote = '\0';
    for (; *from != '\0'; from++) {
        if (quote == '\0' && (ends_command(*from) || *from == ' ' || *from == '\t'))
            break;
        if (*from == quote)
            quote = '\0';
        else if (quote == '\0' && (*from == '\'' || *from == '"'))
            quote = *from;
        else if (quote != '\'' && *from == '\\' && from[1] == '\n')
            from++;
        else
            *(*to)++ = *from;
    }
    *(*to)++ = '\0';
    return from;
}

/* Skips white space, including escaped line ends. */
static const char *space_skip(const char *at)
{
    while (*at == ' ' || *at == '\t' || (*at == '\\' && at[1] == '\n'))
        at += *at == '\\' ? 2 : 1;
    return at;
}

/* Reads one command into words; returns where the next one begins, NULL at the end. */
static const char *command_read(const char *at, struct alternatives_command *command)
{
    char *to = command->text;
    command->count = 0;
    at = space_skip(at);
    while (!ends_command(*at) && *at != '#') {
        const char *word = to;
        at = word_read(at, &to);
        if (command->count < WORDS_MAX)
            command->words[command->count++] = word;
        at = space_skip(at);
    }
    if (*at == '#')
        at += strcspn(at, "\n");
    return *at != '\0' ? at + 1 : NULL;
}

/* Whether the words need no shell expansion. */
static bool words_are_plain(const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strpbrk(words[i], "$`*?") != NULL)
            return false;
    return true;
}

/* Whether LINK NAME PATH is valid: absolute paths, and a plain file name. */
static bool words_are_alternative(const char *const words[3])
{
    return words_are_plain(words, 3) && words[0][0] == '/' && words[2][0] == '/' &&
           strchr(words[1], '/') == NULL;
}

static int alternative_add(struct alternative_list *list, const char *const words[3],
                           const char *master, long priority)
{
    struct alternative *grown = reallocarray(list->items, list->count + 1, sizeof(*grown));
    if (grown == NULL)
        return -ENOMEM;
    list->items = grown;
    struct alternative added = {strdup(words[0]), strdup(words[1]), strdup(words[2]),
                                strdup(master), priority};
    list->items[list->count++] = added;
    return added.link && added.name && added.path && added.master ? 0 : -ENOMEM;
}

/* Whether a new master of this priority wins; if so, drops the former one and its slaves. */
static bool master_wins(struct alternative_list *list, const char *name, long priority)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].master, name) == 0 && list->items[i].priority >= priority)
            return false;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].master, name) == 0)
            alternative_release(&list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
    return true;
}

static int command_take(struct alternative_list *list, const struct alternatives_command *command)
{
    size_t at = 0;
    while (at < command->count && strcmp(command->words[at], "--install") != 0)
        at++;
    if (at + 4 >= command->count)
        return 0;
    const char *const *master = &command->words[at + 1];
    bool is_it = false;
    for (size_t i = 0; i < at; i++) {
        const char *end = strrchr(command->words[i], '/');
        is_it |= strcmp(end != NULL ? end + 1 : command->words[i], "update-alternatives") == 0;
    }
    char *rest;
    long priority = strtol(master[3], &rest, 10);
    if (!is_it || *rest != '\0' || !words_are_alternative(master) ||
        !master_wins(list, master[1], priority))
        return 0;
    int r = alternative_add(list, master, master[1], priority);
    for (at += 5; r == 0 && at + 3 < command->count; at += 4) {
        const char *const *slave = &command->words[at + 1];
        if (strcmp(command->words[at], "--slave") != 0)
            break;
        if (words_are_alternative(slave))
            r = alternative_add(list, slave, master[1], priority);
    }
    return r;
}

int alternatives_parse(struct alternative_list *list, const char *script)
{
    /* Each word of the script is no longer than it was, with its separator for the NUL. */
    OWNED_MEMORY char *text = malloc(strlen(script) + 2);
    if (text == NULL)
        return -ENOMEM;
    struct alternatives_command command = {.text = text};
    for (const char *at = script; at != NULL;) {
        at = command_read(at, &command);
        int r = command_take(list, &command);
        if (r < 0)
            return r;
    }
    return 0;
}
