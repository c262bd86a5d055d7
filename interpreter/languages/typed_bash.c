#include "interpreter/languages/typed.h"

#include <stdbool.h>
#include <string.h>

#define HERE_MAX 8 /* here-documents that begin in one line */
#define WORD_MAX 16

/* The end of a here-document. */
struct here {
    const char *delimiter; /* in the code, in quotes or not */
    size_t length;
    bool has_tabs; /* <<-: tabs before it do not count */
};

struct bash_scan {
    const char *begin, *at, *end;
    /*
     * What is open: '"', '`', '(' of commands, 'a' of arithmetic, '$' of ${, '{' of a group, 'i'f, 'd'o, 'c'ase.
     */
    char open[TYPED_DEPTH_MAX];
    size_t depth;
    bool is_open;    /* a quote, a line or a here-document goes on */
    bool is_command; /* a command may begin here */
    bool is_function; /* behind this word */
    bool goes_on;    /* behind an operator that a command follows */
    struct here here[HERE_MAX];
    size_t here_count;
};

/* Reserved words: what they open or close, and whether a command follows. */
static const struct reserved {
    const char *word;
    char opens, closes;
    bool is_before_command;
} reserved[] = {
    {"if", 'i', 0, true},    {"then", 0, 0, true},    {"elif", 0, 0, true},
    {"else", 0, 0, true},    {"fi", 0, 'i', false},   {"while", 'd', 0, true},
    {"until", 'd', 0, true}, {"for", 'd', 0, false},  {"select", 'd', 0, false},
    {"do", 0, 0, true},      {"done", 0, 'd', false}, {"case", 'c', 0, false},
    {"esac", 0, 'c', false}, {"{", '{', 0, true},     {"}", 0, '{', false},
    {"!", 0, 0, true},       {"time", 0, 0, true},
};

static char top(const struct bash_scan *scan)
{
    if (scan->depth == 0)
        return '\0';
    return scan->open[scan->depth - 1];
}

static void push(struct bash_scan *scan, char what)
{
    if (scan->depth < TYPED_DEPTH_MAX)
        scan->open[scan->depth++] = what;
    scan->is_command = strchr("(`", what) != NULL;
}

static bool close_top(struct bash_scan *scan, char what)
{
    if (top(scan) != what)
        return false;
    scan->depth--;
    scan->is_command = false;
    return true;
}

static bool begins_with(const struct bash_scan *scan, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

/* '...', or with escapes $'...'. */
static void skip_quoted(struct bash_scan *scan, bool has_escapes)
{
    while (scan->at < scan->end && *scan->at != '\'')
        scan->at += has_escapes && *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
    scan->is_open |= scan->at == scan->end;
    scan->at += scan->at < scan->end;
    scan->is_command = false;
}

/* Quotes in a delimiter only say that the document is taken as it is. */
static bool is_delimiter(const struct here *here, const char *line, size_t length)
{
    size_t taken = 0;
    for (size_t i = 0; i < here->length; i++) {
        if (strchr("'\"\\", here->delimiter[i]) != NULL)
            continue;
        if (taken == length || line[taken] != here->delimiter[i])
            return false;
        taken++;
    }
    return taken == length;
}

static void skip_here(struct bash_scan *scan, const struct here *here)
{
    while (scan->at < scan->end) {
        const char *line = scan->at;
        while (here->has_tabs && line < scan->end && *line == '\t')
            line++;
        const char *newline = memchr(line, '\n', (size_t)(scan->end - line));
        const char *end = newline != NULL ? newline : scan->end;
        scan->at = newline != NULL ? newline + 1 : end;
        if (is_delimiter(here, line, (size_t)(end - line)))
            return;
    }
    scan->is_open = true;
}

static void take_newline(struct bash_scan *scan)
{
    scan->at++;
    for (size_t i = 0; i < scan->here_count; i++)
        skip_here(scan, &scan->here[i]);
    scan->here_count = 0;
    scan->is_command = true;
}

/* Behind "<<". */
static void take_here(struct bash_scan *scan)
{
    struct here here = {.has_tabs = begins_with(scan, "-")};
    scan->at += here.has_tabs;
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
        scan->at++;
    here.delimiter = scan->at;
    while (scan->at < scan->end && strchr(" \t\n;&|()<>", *scan->at) == NULL)
        scan->at++;
    here.length = (size_t)(scan->at - here.delimiter);
    if (here.length > 0 && scan->here_count < HERE_MAX)
        scan->here[scan->here_count++] = here;
}

/* What a $ or a quote begins, also within "..."; else false, and nothing is taken. */
static bool take_expansion(struct bash_scan *scan)
{
    static const struct {
        const char *text;
        const char *opens;
    } expansions[] = {{"$((", "aa"}, {"$(", "("}, {"${", "$"}};
    for (size_t i = 0; i < sizeof(expansions) / sizeof(expansions[0]); i++) {
        if (!begins_with(scan, expansions[i].text))
            continue;
        scan->at += strlen(expansions[i].text);
        for (const char *what = expansions[i].opens; *what != '\0'; what++)
            push(scan, *what);
        return true;
    }
    if (*scan->at == '\\') {
        scan->is_command = false;
        scan->at += scan->end - scan->at > 1 ? 2 : 1;
        scan->is_open |= scan->at == scan->end && scan->at[-1] == '\n';
    } else if (*scan->at == '`') {
        scan->at++;
        if (!close_top(scan, '`'))
            push(scan, '`');
    } else if (*scan->at == '"') {
        scan->at++;
        if (!close_top(scan, '"'))
            push(scan, '"');
    } else {
        return false;
    }
    return true;
}

/* Within "...", ${...} or arithmetic. */
static void take_inner(struct bash_scan *scan)
{
    char inside = top(scan);
    if (take_expansion(scan))
        return;
    char character = *scan->at++;
    if (inside == '$' && character == '}')
        close_top(scan, '$');
    else if (inside == 'a' && character == '(')
        push(scan, 'a');
    else if (inside == 'a' && character == ')')
        close_top(scan, 'a');
    else if (inside != '"' && character == '\'')
        skip_quoted(scan, false);
}

static void take_parenthesis(struct bash_scan *scan)
{
    bool is_arithmetic = begins_with(scan, "((") && scan->is_command;
    bool closes = *scan->at == ')';
    scan->at += is_arithmetic ? 2 : 1;
    if (is_arithmetic) {
        push(scan, 'a');
        push(scan, 'a');
    } else if (!closes) {
        push(scan, '(');
    } else {
        bool is_function = scan->at - scan->begin >= 2 && scan->at[-2] == '(';
        /* One that closes nothing ends a pattern of case. */
        scan->is_command = !close_top(scan, '(') || is_function;
    }
}

static void take_operator(struct bash_scan *scan)
{
    if (begins_with(scan, "<<<")) {
        scan->at += 3;
    } else if (begins_with(scan, "<<")) {
        scan->at += 2;
        take_here(scan);
    } else {
        char character = *scan->at++;
        scan->is_command = scan->is_command || strchr(";&|", character) != NULL;
        scan->goes_on = character == '|' || (character == '&' && begins_with(scan, "&"));
        scan->at += scan->goes_on && scan->at < scan->end && *scan->at == character;
    }
}

static void take_word(struct bash_scan *scan)
{
    const char *begin = scan->at;
    while (scan->at < scan->end && strchr(" \t\n;&|()<>'\"`\\$", *scan->at) == NULL)
        scan->at++;
    size_t length = (size_t)(scan->at - begin);
    if (length == 0) { /* a $ alone */
        scan->at++;
        scan->is_command = false;
        return;
    }
    bool was_command = scan->is_command;
    scan->is_command = scan->is_function; /* behind its name */
    scan->is_function =
        was_command && length == strlen("function") && memcmp(begin, "function", length) == 0;
    for (size_t i = 0; was_command && i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        const struct reserved *word = &reserved[i];
        if (strlen(word->word) != length || memcmp(word->word, begin, length) != 0)
            continue;
        if (word->opens != 0)
            push(scan, word->opens);
        if (word->closes != 0)
            close_top(scan, word->closes);
        scan->is_command = word->is_before_command;
    }
}

static bool is_word_begin(const struct bash_scan *scan)
{
    return scan->at == scan->begin || strchr(" \t\n;&|()", scan->at[-1]) != NULL;
}

static void take_outer(struct bash_scan *scan)
{
    bool goes_on = scan->goes_on;
    scan->goes_on = false;
    if (*scan->at == ' ' || *scan->at == '\t') {
        scan->at++;
        scan->goes_on = goes_on;
    } else if (*scan->at == '\n') {
        take_newline(scan);
        scan->goes_on = goes_on;
    } else if (*scan->at == '#' && is_word_begin(scan)) {
        while (scan->at < scan->end && *scan->at != '\n')
            scan->at++;
        scan->goes_on = goes_on;
    } else if (*scan->at == '\'' || begins_with(scan, "$'")) {
        bool has_escapes = *scan->at == '$';
        scan->at += has_escapes ? 2 : 1;
        skip_quoted(scan, has_escapes);
    } else if (take_expansion(scan)) {
        return;
    } else if (*scan->at == '(' || *scan->at == ')') {
        take_parenthesis(scan);
    } else if (strchr(";&|<>", *scan->at) != NULL) {
        take_operator(scan);
    } else {
        take_word(scan);
    }
}

enum typed typed_bash(const char *code, size_t length)
{
    struct bash_scan scan = {.begin = code, .at = code, .end = code + length, .is_command = true};
    while (scan.at < scan.end) {
        if (top(&scan) != '\0' && strchr("\"$a", top(&scan)) != NULL)
            take_inner(&scan);
        else
            take_outer(&scan);
    }
    bool is_open = scan.is_open || scan.depth > 0 || scan.goes_on || scan.here_count > 0;
    return is_open ? TYPED_OPEN : TYPED_WHOLE;
}
