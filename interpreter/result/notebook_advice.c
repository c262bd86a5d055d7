#include "interpreter/result/notebook_advice.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <string.h>

#define LINES_MAX 3 /* of the end: the error, the mark below the place, the line of the program */

struct line {
    const char *text;
    size_t length;
};

static bool begins_with(const struct line *line, const char *text)
{
    size_t length = strlen(text);
    return line->length >= length && memcmp(line->text, text, length) == 0;
}

static bool is(const struct line *line, const char *text)
{
    return line->length == strlen(text) && begins_with(line, text);
}

static bool has(const struct line *line, const char *text)
{
    return memmem(line->text, line->length, text, strlen(text)) != NULL;
}

/* Lines of Node about the error, but not the error. */
static bool is_about(const struct line *line)
{
    return begins_with(line, "    at ") || begins_with(line, "  code: ") || is(line, "}") ||
           begins_with(line, "Node.js v");
}

/* The last lines that are not blank, the last one first. How many there are. */
static size_t last_lines(const char *text, size_t length, struct line lines[LINES_MAX])
{
    size_t count = 0;
    while (length > 0 && count < LINES_MAX) {
        const char *newline = memrchr(text, '\n', length);
        size_t begin = newline != NULL ? (size_t)(newline - text) + 1 : 0;
        struct line line = {text + begin, length - begin};
        length = newline != NULL ? begin - 1 : 0;
        while (line.length > 0 && strchr(" \t\r", line.text[line.length - 1]) != NULL)
            line.length--;
        if (line.length > 0 && !is_about(&line))
            lines[count++] = line;
    }
    return count;
}

static struct line without_indentation(struct line line)
{
    while (line.length > 0 && (*line.text == ' ' || *line.text == '\t'))
        line = (struct line){line.text + 1, line.length - 1};
    return line;
}

static bool has_installed(const struct capture *out)
{
    static const char mark[] = "Successfully installed ";
    const struct buffer *parts[] = {&out->head, &out->tail};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (parts[i]->length > 0 &&
            memmem(parts[i]->data, parts[i]->length, mark, strlen(mark)) != NULL)
            return true;
    }
    return false;
}

static const char *advise_on_python(const struct line *lines, size_t count,
                                    const struct run_result *result)
{
    if (is(&lines[0], "SyntaxError: 'await' outside function"))
        return "A program awaits in an async function, called by asyncio.run().";
    if (is(&lines[0], "NameError: name 'display' is not defined"))
        return "display() is of notebooks: print() the value; open figures are shown anyway.";
    if (begins_with(&lines[0], "ModuleNotFoundError: No module named '") &&
        has_installed(&result->out))
        return "What pip installs while Python runs is found after "
               "site.addsitedir(site.getusersitepackages()).";
    struct line line = count == LINES_MAX ? without_indentation(lines[2]) : (struct line){"", 0};
    if (begins_with(&lines[0], "SyntaxError: ") && begins_with(&line, "%matplotlib"))
        return "Leave %matplotlib out: figures are shown without it.";
    if (begins_with(&lines[0], "SyntaxError: ") &&
        (begins_with(&line, "!") || begins_with(&line, "%") || has(&line, "= !")))
        return "Lines with ! and % are of notebooks: a program calls subprocess.run().";
    return NULL;
}

static bool begins_with_any(const struct line *line, const char *const *words)
{
    while (*words != NULL && !begins_with(line, *words))
        words++;
    return *words != NULL;
}

/* A declaration of a type, or of something with one. */
static bool is_typed(const struct line *line)
{
    static const char *const types[] = {
        "interface ",        "type ",        "enum ",        "declare ", "abstract ", "namespace ",
        "export interface ", "export type ", "export enum ", NULL};
    static const char *const others[] = {
        "let ", "const ", "var ", "function ", "async function ", "export ", NULL};
    return begins_with_any(line, types) || (begins_with_any(line, others) && has(line, ": "));
}

static const char *advise_on_javascript(const struct line *lines, size_t count)
{
    if (begins_with(&lines[0], "ReferenceError: Cannot determine intended module format"))
        return "With await at the top, a program imports: import fs from 'node:fs'.";
    struct line line = count == LINES_MAX ? without_indentation(lines[2]) : (struct line){"", 0};
    if (is(&lines[0], "SyntaxError: Unexpected identifier 'as'"))
        return "A program is JavaScript: leave types out.";
    bool may_be_type = is(&lines[0], "SyntaxError: Unexpected token ':'") ||
                       is(&lines[0], "SyntaxError: Unexpected reserved word") ||
                       begins_with(&lines[0], "SyntaxError: Unexpected identifier ") ||
                       is(&lines[0], "SyntaxError: Missing initializer in const declaration");
    return may_be_type && is_typed(&line) ? "A program is JavaScript: leave types out." : NULL;
}

/* A program that was escaped once too often is one line: "import os\nprint(1)", with a backslash. */
static bool is_escaped_twice(const struct line *lines, size_t count)
{
    return count == LINES_MAX && has(&lines[2], "\\n") &&
           (is(&lines[0], "SyntaxError: unexpected character after line continuation character") ||
            is(&lines[0], "SyntaxError: Invalid or unexpected token"));
}

static bool lacks_terminals(const struct line *line, const struct run_result *result)
{
    return result->tier > TIER_P && (is(line, "OSError: out of pty devices") ||
                                     is(line, "FileNotFoundError: [Errno 2] No such file or "
                                              "directory: '/dev/ptmx'"));
}

struct notebook_advice notebook_advice_find(enum language_id language, const char *text,
                                            size_t length, const struct run_result *result)
{
    struct line lines[LINES_MAX] = {0};
    size_t count = last_lines(text, length, lines);
    struct notebook_advice advice = {0};
    if (count == 0)
        return advice;
    if (lacks_terminals(&lines[0], result))
        return (struct notebook_advice){
            "There are no pseudo-terminals where snippets share the devices of the host (tiers C "
            "and L): use pipes.",
            true};
    if (language != LANGUAGE_BASH && is_escaped_twice(lines, count))
        return (struct notebook_advice){
            "The code has \\n, two characters, where a line ends: give it real line ends.", true};
    if (language == LANGUAGE_PYTHON)
        advice.text = advise_on_python(lines, count, result);
    else if (language == LANGUAGE_JAVASCRIPT)
        advice.text = advise_on_javascript(lines, count);
    return advice;
}
