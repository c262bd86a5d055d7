#include "interpreter/languages/typed.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MAX 16

struct javascript_scan {
    const char *at, *end;
    /* Open brackets: '(' of an expression, 'h' of the head of a statement, '[', '{', '$' in a template. */
    char open[TYPED_DEPTH_MAX];
    size_t depth;
    bool is_open; /* in a comment or template */
    char last; /* character that is no comment or space; 'h': the end of such a head; 0: none */
    char word[WORD_MAX]; /* that ends there; or "" */
};

/* Words that an expression follows, and words that more must follow. */
static const char *const before_expressions[] = {"await", "case",  "delete", "in",    "instanceof",
                                                 "new",   "of",    "return", "throw", "typeof",
                                                 "void",  "yield", NULL};
static const char *const before_more[] = {
    "case", "const", "delete", "do",    "else", "extends", "finally", "in",   "instanceof",
    "let",  "new",   "of",     "throw", "try",  "typeof",  "var",     "void", NULL};
static const char *const of_heads[] = {"for", "if", "while", "with", NULL};

static bool is_among(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

static bool begins_with(const struct javascript_scan *scan, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

static bool is_of_word(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '$' ||
           (unsigned char)character >= 0x80;
}

static void note(struct javascript_scan *scan, char last)
{
    scan->last = last;
    scan->word[0] = '\0';
}

static void push(struct javascript_scan *scan, char bracket)
{
    if (scan->depth < TYPED_DEPTH_MAX)
        scan->open[scan->depth++] = bracket;
}

static char pop(struct javascript_scan *scan)
{
    if (scan->depth == 0)
        return '\0';
    return scan->open[--scan->depth];
}

static void skip_comment(struct javascript_scan *scan)
{
    bool is_long = begins_with(scan, "/*");
    scan->at += 2;
    while (scan->at < scan->end && !(is_long ? begins_with(scan, "*/") : *scan->at == '\n'))
        scan->at++;
    if (is_long && scan->at == scan->end)
        scan->is_open = true;
    else
        scan->at += is_long ? 2 : 0;
}

/* Of a string or regular expression, which end with their line at the latest. */
static void skip_quoted(struct javascript_scan *scan)
{
    char end = *scan->at++;
    bool is_in_class = false; /* /[/]/ */
    while (scan->at < scan->end && *scan->at != '\n') {
        char character = *scan->at++;
        if (character == '\\' && scan->at < scan->end)
            scan->at++;
        else if (character == end && !is_in_class)
            break;
        else if (end == '/')
            is_in_class = character == '[' || (is_in_class && character != ']');
    }
    note(scan, '"');
}

/* Up to its end or the next ${. */
static void skip_template(struct javascript_scan *scan)
{
    while (scan->at < scan->end && *scan->at != '`' && !begins_with(scan, "${"))
        scan->at += *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
    if (scan->at == scan->end) {
        scan->is_open = true;
    } else if (*scan->at++ == '$') {
        scan->at++;
        push(scan, '$');
        note(scan, '{');
    } else {
        note(scan, '"');
    }
}

static void take_word(struct javascript_scan *scan)
{
    const char *begin = scan->at;
    while (scan->at < scan->end && is_of_word(*scan->at))
        scan->at++;
    size_t length = (size_t)(scan->at - begin);
    bool is_member = scan->last == '.';
    note(scan, 'a');
    if (length < WORD_MAX && !is_member) {
        memcpy(scan->word, begin, length);
        scan->word[length] = '\0';
    }
}

static bool may_begin_expression(const struct javascript_scan *scan)
{
    return scan->word[0] != '\0'
               ? is_among(scan->word, before_expressions)
               : scan->last == '\0' || strchr("h(,=:[!&|?{};+-*%~^<>/", scan->last);
}

static void take_sign(struct javascript_scan *scan)
{
    char sign = *scan->at++;
    if (sign == '(') {
        push(scan, is_among(scan->word, of_heads) ? 'h' : '(');
    } else if (sign == '[' || sign == '{') {
        push(scan, sign);
    } else if (strchr(")]}", sign) != NULL) {
        char opened = pop(scan);
        if (opened == '$') {
            skip_template(scan);
            return;
        }
        if (opened == 'h')
            sign = opened;
        note(scan, sign);
        return;
    } else if ((sign == '+' || sign == '-') && scan->at < scan->end && *scan->at == sign) {
        scan->at++;
        note(scan, '"'); /* as if after a value */
        return;
    }
    note(scan, sign);
}

static enum typed judge(const struct javascript_scan *scan)
{
    if (scan->is_open || scan->depth > 0)
        return TYPED_OPEN;
    bool goes_on = scan->word[0] != '\0'
                       ? is_among(scan->word, before_more)
                       : scan->last != '\0' && strchr("h,=.&|?:+-*/%~^<>!", scan->last) != NULL;
    return goes_on ? TYPED_BLOCK : TYPED_WHOLE;
}

enum typed typed_javascript(const char *code, size_t length)
{
    struct javascript_scan scan = {.at = code, .end = code + length};
    while (scan.at < scan.end) {
        if (isspace((unsigned char)*scan.at)) {
            scan.at++;
        } else if (begins_with(&scan, "//") || begins_with(&scan, "/*")) {
            skip_comment(&scan);
        } else if (*scan.at == '"' || *scan.at == '\'' ||
                   (*scan.at == '/' && may_begin_expression(&scan))) {
            skip_quoted(&scan);
        } else if (*scan.at == '`') {
            scan.at++;
            skip_template(&scan);
        } else if (is_of_word(*scan.at)) {
            take_word(&scan);
        } else {
            take_sign(&scan);
        }
    }
    return judge(&scan);
}
