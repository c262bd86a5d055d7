#include "interpreter/languages/main_class.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"
#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$" DIGITS
#define SPACES " \t\r\n\f"

/* What is read, and where in it. */
struct scan {
    const char *begin, *at, *end;
    unsigned depth, parentheses; /* that are open; of the latter, at the top */
    bool is_public; /* the declaration that is being read */
    bool names_package, names_class; /* the next word does */
    bool was_main; /* the word before */
    char first[CLASS_NAME_SIZE], publicly[CLASS_NAME_SIZE], with_main[CLASS_NAME_SIZE];
    char current[CLASS_NAME_SIZE]; /* at the top, the last that was declared */
    char package[CLASS_NAME_SIZE];
};

static bool is_one_of_letters(char letter, const char *letters)
{
    return letter != '\0' && strchr(letters, letter) != NULL;
}

/* Every letter beyond ASCII is taken for one of a name. */
static bool is_of_word(char letter)
{
    return (unsigned char)letter >= 0x80 || is_one_of_letters(letter, WORD_LETTERS);
}

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
    bool is_valid = false;
    const char *letter = ++scan->at;
    size_t left = (size_t)(scan->end - letter);
    size_t length = left > 0 ? utf8_step(letter, left, &is_valid) : 0;
    if (left > length && (letter[0] == '\\' || letter[length] == '\''))
        skip_string(scan, '\'');
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

/* As in "A.class" or "import a.record.B". */
static bool is_member(const struct scan *scan, const char *word)
{
    return word > scan->begin && word[-1] == '.';
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
    else if (is_one_of(word, length, kinds) && !is_member(scan, word))
        scan->names_class = true;
    else if (is_word(word, length, "App")) /* "extends App", of Scala */
        set_once(scan->with_main, scan->current);
}

static void take_word(struct scan *scan)
{
    const char *word = scan->at;
    while (scan->at < scan->end && is_of_word(*scan->at))
        scan->at++;
    size_t length = (size_t)(scan->at - word);
    scan->was_main = is_word(word, length, "main");
    if (scan->names_package) {
        while (scan->at < scan->end && (is_of_word(*scan->at) || *scan->at == '.'))
            scan->at++;
        copy_word(scan->package, word, (size_t)(scan->at - word));
        scan->names_package = false;
    } else if (scan->depth == 0 && scan->parentheses == 0) {
        take_top(scan, word, length);
    }
}

/* At the top, arguments of annotations and components of records. */
static void take_parenthesis(struct scan *scan, char letter)
{
    if (letter == '(' && scan->was_main && scan->depth == 1)
        set_once(scan->with_main, scan->current);
    if (letter == '(' && scan->depth == 0)
        scan->parentheses++;
    if (letter == ')' && scan->depth == 0 && scan->parentheses > 0)
        scan->parentheses--;
}

static void take_brace(struct scan *scan, char letter)
{
    if (letter == '{')
        scan->depth++;
    else if (scan->depth > 0)
        scan->depth--;
    if (letter == '}' && scan->parentheses == 0)
        scan->is_public = false;
}

static void take_other(struct scan *scan)
{
    char letter = *scan->at++;
    if (is_one_of_letters(letter, SPACES))
        return;
    if (letter == '{' || letter == '}')
        take_brace(scan, letter);
    else if (letter == '(' || letter == ')')
        take_parenthesis(scan, letter);
    else if (letter == ';')
        scan->is_public = false;
    scan->names_class = scan->names_package = scan->was_main = false;
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
    } else if (is_of_word(*scan->at)) {
        take_word(scan);
    } else {
        take_other(scan);
    }
}

struct main_class main_class_find(const char *code, size_t length)
{
    struct scan scan = {.begin = code, .at = code, .end = code + length};
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
