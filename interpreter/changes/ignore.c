#include "interpreter/changes/ignore.h"

#include "interpreter/changes/entry.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

void ignore_drop(struct ignore *ignore, size_t count)
{
    while (ignore->count > count)
        free(ignore->rules[--ignore->count].pattern);
    if (count == 0) {
        free(ignore->rules);
        *ignore = (struct ignore){0};
    }
}

static int make_room(struct ignore *ignore)
{
    if (ignore->count < ignore->capacity)
        return 0;
    size_t capacity = ignore->capacity > 0 ? 2 * ignore->capacity : FIRST_CAPACITY;
    struct ignore_rule *rules = reallocarray(ignore->rules, capacity, sizeof(*rules));
    if (rules == NULL)
        return -ENOMEM;
    ignore->rules = rules;
    ignore->capacity = capacity;
    return 0;
}

/* Without white space at its end, unless a backslash keeps it. */
static size_t rule_length(const char *line, size_t length)
{
    if (length > 0 && line[length - 1] == '\r')
        length--;
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t') &&
           !(length > 1 && line[length - 2] == '\\'))
        length--;
    return length;
}

static int add_rule(struct ignore *ignore, size_t base, const char *line, size_t length)
{
    struct ignore_rule rule = {.base = base};
    length = rule_length(line, length);
    if (length == 0 || length >= IGNORE_RULE_SIZE || line[0] == '#' ||
        memchr(line, '\0', length) != NULL)
        return 0;
    if (line[0] == '!') {
        rule.is_negated = true;
        line++;
        length--;
    }
    if (length > 0 && line[length - 1] == '/') {
        rule.is_directory = true;
        length--;
    }
    rule.is_anchored = length > 0 && memchr(line, '/', length) != NULL;
    if (length > 0 && line[0] == '/') {
        line++;
        length--;
    }
    if (length == 0 || ignore->count == IGNORE_RULES_MAX)
        return 0;
    rule.pattern = strndup(line, length);
    if (rule.pattern == NULL || make_room(ignore) < 0) {
        free(rule.pattern);
        return -ENOMEM;
    }
    ignore->rules[ignore->count++] = rule;
    return 0;
}

int ignore_add(struct ignore *ignore, size_t base, const char *text, size_t length)
{
    const char *end = text + length;
    int r = 0;
    while (r == 0 && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline != NULL ? newline : end;
        r = add_rule(ignore, base, text, (size_t)(line_end - text));
        text = line_end + 1;
    }
    return r;
}

int ignore_add_file(struct ignore *ignore, size_t base, int directory_fd)
{
    OWNED(version_release) struct file_version rules = VERSION_ABSENT;
    const struct entry entry = entry_look(directory_fd, ".gitignore");
    if (entry.kind != ENTRY_FILE || entry_read(directory_fd, ".gitignore", &entry, &rules) < 0)
        return 0;
    return ignore_add(ignore, base, rules.bytes, rules.size);
}

/* Copies the part up to the next "/". What follows it, or NULL: it was the last one. */
static const char *take_part(const char *text, char part[IGNORE_RULE_SIZE])
{
    size_t length = strcspn(text, "/");
    size_t copied = length < IGNORE_RULE_SIZE ? length : IGNORE_RULE_SIZE - 1;
    memcpy(part, text, copied);
    part[copied] = '\0';
    return text[length] == '/' ? text + length + 1 : NULL;
}

/*
 * Part by part. After "**", which stands for any number of them, only the last such place needs to be tried
 * again: one further on has more to choose from.
 */
static bool matches(const char *pattern, const char *path)
{
    const char *pattern_after = NULL; /* the last "**" */
    const char *path_after = NULL;    /* where its next try begins */
    while (path != NULL) {
        char wanted[IGNORE_RULE_SIZE] = "";
        char name[IGNORE_RULE_SIZE];
        const char *next_pattern = pattern != NULL ? take_part(pattern, wanted) : NULL;
        if (pattern != NULL && strcmp(wanted, "**") == 0) {
            if (next_pattern == NULL)
                return true; /* everything below */
            pattern_after = pattern = next_pattern;
            path_after = path;
            continue;
        }
        const char *next_path = take_part(path, name);
        if (pattern != NULL && fnmatch(wanted, name, 0) == 0) {
            pattern = next_pattern;
            path = next_path;
        } else if (path_after != NULL) {
            pattern = pattern_after;
            path = path_after = take_part(path_after, name);
        } else {
            return false;
        }
    }
    return pattern == NULL;
}

static bool rule_has(const struct ignore_rule *rule, const char *path, bool is_directory)
{
    const char *below = path + rule->base;
    if (rule->is_directory && !is_directory)
        return false;
    if (rule->is_anchored)
        return matches(rule->pattern, below);
    const char *slash = strrchr(below, '/');
    return fnmatch(rule->pattern, slash != NULL ? slash + 1 : below, 0) == 0;
}

bool ignore_has(const struct ignore *ignore, const char *path, bool is_directory)
{
    for (size_t i = ignore->count; i > 0; i--)
        if (rule_has(&ignore->rules[i - 1], path, is_directory))
            return !ignore->rules[i - 1].is_negated;
    return false;
}
