#include "interpreter/languages/main_class.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"
#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$" DIGITS

/* What is read, and where in it. */
struct scan {
    const char *at, *end;
    unsigned depth; /* of braces */
    bool is_public; /* the declaration that is being read */
    bool names_package, names_class; /* the next word does */
    bool was_main; /* the word before */
    char first[CLASS_NAME_SIZE], publicly[CLASS_NAME_SIZE], with_main[CLASS_NAME_SIZE];
    char current[CLASS_NAME_SIZE]; /* at the top, the last that was declared */
    char package[CLASS_NAME_SIZE];
};

static bool begins(const struct scan *scan, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

static void skip_past(struct scan *scan, const char *text)
{
    while (scan->at < scan->end && !begins(scan, text))
        scan->at++;
    for (size_t i = 0; i < strlen(text) && scan->at < scan->end; i++)
        scan->at++;
}

/* Behind its opening quote. */
static void skip_string(struct scan *scan, char quote)
{
    for (; scan->at < scan->end && *scan->at != quote && *scan->at != '\n'; scan->at++)
        if (*scan->at == '\\' && scan->at + 1 < scan->end)
            scan->at++;
    if (scan->at < scan->end)
        scan->at++;
}

/* 'x' or '\n'; any other ' is one of Scala's symbols. */
static void skip_character(struct scan *scan)
{
    size_t left = (size_t)(scan->end - scan->at);
    if (left > 2 && (scan->at[1] == '\\' || scan->at[2] == '\'')) {
        scan->at++;
        skip_string(scan, '\'');
    } else {
        scan->at++;
    }
}

static bool is_word(const char *word, size_t length, const char *known)
{
    return strlen(known) == length && memcmp(word, known, length) == 0;
}

static bool is_one_of(const char *word, size_t length, const char *const *known)
{
    for (; *known != NULL; known++)
        if (is_word(word, length, *known))
            return true;
    return false;
}

static void copy_word(char target[static CLASS_NAME_SIZE], const char *word, size_t length)
{
    if (length < CLASS_NAME_SIZE)
        snprintf(target, CLASS_NAME_SIZE, "%.*s", (int)length, word);
}

static void set_once(char target[static CLASS_NAME_SIZE], const char *name)
{
    if (target[0] == '\0')
        snprintf(target, CLASS_NAME_SIZE, "%s", name);
}

static void take_name(struct scan *scan, const char *word, size_t length)
{
    scan->names_class = false;
    scan->current[0] = '\0';
    copy_word(scan->current, word, length);
    set_once(scan->first, scan->current);
    if (scan->is_public)
        set_once(scan->publicly, scan->current);
    scan->is_public = false;
}

/* A word at the top of the file. */
static void take_top(struct scan *scan, const char *word, size_t length)
{
    static const char *const kinds[] = {"class", "interface", "enum", "record", "object", NULL};
    if (scan->names_class)
        take_name(scan, word, length);
    else if (is_word(word, length, "public"))
        scan->is_public = true;
    else if (is_word(word, length, "package"))
        scan->names_package = true;
    else if (is_one_of(word, length, kinds))
        scan->names_class = true;
    else if (is_word(word, length, "App")) /* "extends App", of Scala */
        set_once(scan->with_main, scan->current);
}

static void take_word(struct scan *scan)
{
    const char *word = scan->at;
    while (scan->at < scan->end && *scan->at != '\0' && strchr(WORD_LETTERS, *scan->at) != NULL)
        scan->at++;
    size_t length = (size_t)(scan->at - word);
    scan->was_main = is_word(word, length, "main");
    if (scan->names_package) {
        while (scan->at < scan->end && *scan->at != '\0' &&
               strchr(WORD_LETTERS ".", *scan->at) != NULL)
            scan->at++;
        copy_word(scan->package, word, (size_t)(scan->at - word));
        scan->names_package = false;
    } else if (scan->depth == 0) {
        take_top(scan, word, length);
    }
}

static void take_other(struct scan *scan)
{
    char letter = *scan->at++;
    if (letter == '{') {
        scan->depth++;
    } else if (letter == '}' || letter == ';') {
        scan->depth -= letter == '}' && scan->depth > 0;
        scan->is_public = scan->names_class = scan->names_package = false;
    } else if (letter == '(' && scan->was_main && scan->depth == 1) {
        set_once(scan->with_main, scan->current);
    }
    if (letter != ' ')
        scan->was_main = false;
}

static void read_on(struct scan *scan)
{
    if (begins(scan, "//"))
        skip_past(scan, "\n");
    else if (begins(scan, "/*"))
        skip_past(scan, "*/");
    else if (begins(scan, "\"\"\"")) {
        scan->at += 3;
        skip_past(scan, "\"\"\"");
    } else if (*scan->at == '"') {
        scan->at++;
        skip_string(scan, '"');
    } else if (*scan->at == '\'') {
        skip_character(scan);
    } else if (*scan->at != '\0' && strchr(WORD_LETTERS, *scan->at) != NULL) {
        take_word(scan);
    } else {
        take_other(scan);
    }
}

struct main_class main_class_find(const char *code, size_t length)
{
    struct scan scan = {.at = code, .end = code + length};
    struct main_class found;
    while (scan.at < scan.end)
        read_on(&scan);
    const char *file = scan.publicly[0] != '\0'    ? scan.publicly
                       : scan.with_main[0] != '\0' ? scan.with_main
                       : scan.first[0] != '\0'     ? scan.first
                                                   : "Main";
    snprintf(found.file, sizeof(found.file), "%s", file);
    snprintf(found.main, sizeof(found.main), "%s%s%s", scan.package,
             scan.package[0] != '\0' ? "." : "", scan.with_main[0] != '\0' ? scan.with_main : file);
    return found;
}
