#include "images/build/settings_text.h"

#include "images/build/passed_settings.h"
#include "sandbox/base/owned.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define KEY_MAX 512
#define BLANKS " \t\r"

/* A piece of a text; it may hold any byte but a newline. */
struct setting_words {
    const char *start;
    size_t length;
};

static bool is_among(char byte, const char *bytes)
{
    return byte != '\0' && strchr(bytes, byte) != NULL;
}

static struct setting_words words_after(struct setting_words words, size_t length)
{
    return (struct setting_words){words.start + length, words.length - length};
}

static struct setting_words words_skip(struct setting_words words, const char *bytes)
{
    while (words.length > 0 && is_among(words.start[0], bytes))
        words = words_after(words, 1);
    return words;
}

static struct setting_words words_trim(struct setting_words words, const char *bytes)
{
    words = words_skip(words, bytes);
    while (words.length > 0 && is_among(words.start[words.length - 1], bytes))
        words.length--;
    return words;
}

static bool words_are(struct setting_words words, const char *text)
{
    return words.length == strlen(text) && memcmp(words.start, text, words.length) == 0;
}

static bool words_begin(struct setting_words words, const char *text)
{
    size_t length = strlen(text);
    return words.length >= length && memcmp(words.start, text, length) == 0;
}

static bool words_have(struct setting_words words, const char *text)
{
    return words.length > 0 && memmem(words.start, words.length, text, strlen(text)) != NULL;
}

/* Up to the first of these bytes. */
static struct setting_words words_until(struct setting_words words, const char *bytes)
{
    size_t length = 0;
    while (length < words.length && !is_among(words.start[length], bytes))
        length++;
    return (struct setting_words){words.start, length};
}

/* Takes the next line off a text, without its end. */
static struct setting_words line_take(struct setting_words *text)
{
    struct setting_words line = words_until(*text, "\n");
    *text = words_after(*text, line.length + (line.length < text->length));
    return line;
}

/* A NUL; or a carriage return within: pip and npm end a line there, too. */
static bool has_strange_byte(struct setting_words line)
{
    line = words_trim(line, BLANKS);
    return line.length > 0 && (memchr(line.start, '\0', line.length) != NULL ||
                               memchr(line.start, '\r', line.length) != NULL);
}

static int line_append(struct buffer *selected, struct setting_words line)
{
    int r = buffer_append(selected, line.start, line.length);
    return r == 0 ? buffer_append(selected, "\n", 1) : r;
}

/* Of npm's, "//HOST/:KEY" and "@SCOPE:registry" have any host and scope: so comments of other files begin. */
static bool key_is_passed(struct setting_words key, bool is_npm)
{
    char pair[KEY_MAX];
    key = words_trim(key, is_npm ? BLANKS "\"'" : BLANKS);
    if (words_begin(key, "--"))
        key = words_after(key, 2);
    if (is_npm && key.length > 2 && memcmp(key.start + key.length - 2, "[]", 2) == 0)
        key.length -= 2; /* of a list */
    bool is_any = (words_begin(key, "//") && !words_have(key, "/:")) ||
                  (words_begin(key, "@") && !words_have(key, ":registry"));
    if (is_any || key.length == 0 || key.length >= KEY_MAX - 32 ||
        words_until(key, BLANKS).length < key.length)
        return false;
    snprintf(pair, sizeof(pair), "%s%.*s=", is_npm ? "npm_config_" : "PIP_", (int)key.length,
             key.start);
    return passed_setting_of(pair) != NULL;
}

/* How far the lines of a configuration file have been read. */
struct reading {
    bool is_npm;
    bool in_section; /* one that is read */
    bool in_setting; /* one whose value may go on */
    bool is_passed; /* that setting */
    size_t indent; /* of its line */
};

/* Whether a line is shown that is no header of a section. configparser(3): a value goes on in lines indented further. */
static bool line_is_passed(struct reading *reading, struct setting_words line)
{
    struct setting_words inner = words_skip(line, BLANKS);
    size_t indent = (size_t)(inner.start - line.start);
    if (inner.length == 0 || is_among(inner.start[0], "#;"))
        return false;
    if (has_strange_byte(inner)) {
        reading->is_passed = false; /* what goes on below it is not the setting above */
        return false;
    }
    if (!reading->is_npm && reading->in_setting && indent > reading->indent)
        return reading->is_passed;
    struct setting_words key = words_until(inner, reading->is_npm ? "=" : "=:");
    bool has_value = key.length < inner.length;
    reading->indent = indent;
    reading->in_setting = true;
    reading->is_passed = reading->in_section && (has_value || reading->is_npm) &&
                         key_is_passed(key, reading->is_npm);
    return reading->is_passed;
}

int settings_select(const struct buffer *text, bool is_npm, struct buffer *selected)
{
    static const char *const sections[] = {"[global]", "[install]"};
    struct setting_words rest = {text->data, text->length};
    struct reading reading = {.is_npm = is_npm, .in_section = is_npm};
    int r = 0;
    while (r == 0 && rest.length > 0) {
        struct setting_words line = line_take(&rest);
        struct setting_words inner = words_skip(line, BLANKS);
        bool goes_on =
            !is_npm && reading.in_setting && (size_t)(inner.start - line.start) > reading.indent;
        if (inner.length == 0 || inner.start[0] != '[' || goes_on) {
            if (line_is_passed(&reading, line))
                r = line_append(selected, line);
            continue;
        }
        reading.in_section = reading.in_setting = false;
        for (size_t i = 0; r == 0 && !is_npm && i < ARRAY_LENGTH(sections); i++)
            if (words_begin(inner, sections[i])) {
                reading.in_section = true;
                r = buffer_format(selected, "%s\n", sections[i]);
            }
    }
    return r;
}

/* Those that pip allows in such a file; a file that one of them names is not shown. */
static bool is_option(struct setting_words line)
{
    static const char *const options[] = {
        "-i",
        "--index-url",
        "--extra-index-url",
        "--no-index",
        "-f",
        "--find-links",
        "--no-binary",
        "--only-binary",
        "--prefer-binary",
        "--pre",
        "--trusted-host",
        "--use-feature",
        "--hash",
        "--require-hashes",
        "-c",
        "--constraint",
        "--config-settings",
        "-r",
        "-e",
        "--requirement",
        "--editable",
    };
    struct setting_words word = words_until(line, BLANKS "=");
    for (size_t i = 0; i < ARRAY_LENGTH(options); i++)
        if (words_are(word, options[i]))
            return true;
    return false;
}

/* "==1.2", ">= 1", "(<2)". */
static bool begins_version(struct setting_words words)
{
    static const char *const operators[] = {"===", "==", "~=", "!=", "<=", ">=", "<", ">"};
    words = words_skip(words, "(" BLANKS);
    for (size_t i = 0; i < ARRAY_LENGTH(operators); i++) {
        if (!words_begin(words, operators[i]))
            continue;
        words = words_skip(words_after(words, strlen(operators[i])), BLANKS);
        if (words.length > 1 && is_among(words.start[0], "vV"))
            words = words_after(words, 1);
        return words.length > 0 && isdigit((unsigned char)words.start[0]);
    }
    return false;
}

/* What a line of a file of constraints is. */
enum line_kind { LINE_NONE, LINE_EMPTY, LINE_CONSTRAINT };

/* "NAME", "NAME[EXTRA] ; python_version < '3'" and the like are EMPTY. PEP 508 */
static enum line_kind requirement_kind(struct setting_words line)
{
    size_t length = 0;
    while (length < line.length &&
           (isalnum((unsigned char)line.start[length]) || is_among(line.start[length], "._-")))
        length++;
    if (length == 0 || !isalnum((unsigned char)line.start[0]))
        return LINE_NONE;
    struct setting_words rest = words_skip(words_after(line, length), BLANKS);
    if (words_begin(rest, "[")) {
        struct setting_words extras = words_until(rest, "]");
        if (extras.length == rest.length)
            return LINE_NONE;
        rest = words_skip(words_after(rest, extras.length + 1), BLANKS);
    }
    if (rest.length == 0 || is_among(rest.start[0], ";\\"))
        return LINE_EMPTY;
    bool has_url = words_begin(rest, "@") && (words_have(rest, "://") || words_have(rest, "file:"));
    return has_url || begins_version(rest) ? LINE_CONSTRAINT : LINE_NONE;
}

/* Without a comment, which begins a line or follows a blank. */
static struct setting_words comment_cut(struct setting_words line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.start[i] == '#' && (i == 0 || is_among(line.start[i - 1], BLANKS)))
            line.length = i;
    return line;
}

int constraints_select(const struct buffer *text, struct buffer *selected)
{
    static const struct setting_words nothing = {"", 0};
    struct setting_words rest = {text->data, text->length};
    enum line_kind above = LINE_NONE; /* that of a line that goes on */
    int r = 0;
    for (int number = 1; r == 0 && rest.length > 0; number++) {
        struct setting_words line = words_trim(comment_cut(line_take(&rest)), BLANKS);
        enum line_kind kind = above != LINE_NONE ? above
                              : line.length == 0 ? LINE_EMPTY
                              : is_option(line)  ? LINE_CONSTRAINT
                                                 : requirement_kind(line);
        if (kind == LINE_NONE || has_strange_byte(line))
            return number;
        bool goes_on = line.length > 0 && line.start[line.length - 1] == '\\';
        above = goes_on ? kind : LINE_NONE;
        r = line_append(selected, kind == LINE_CONSTRAINT ? line : nothing);
    }
    return r;
}
