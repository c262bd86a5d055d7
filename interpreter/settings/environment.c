#include "interpreter/settings/environment.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/small_file.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define WHAT_MAX 512 /* "line 3 of /home/user/secrets.env" */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

void environment_release(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->variables[i].text);
    free(environment->variables);
    *environment = (struct environment){0};
}

const char *environment_source_name(enum environment_source source)
{
    static const char *const names[ENVIRONMENT_SOURCE_COUNT] = {
        [ENVIRONMENT_PASSED] = "pass-through-env",
        [ENVIRONMENT_FILE] = "env-file",
        [ENVIRONMENT_SET] = "env",
    };
    return names[source];
}

/* No name is reserved: nothing that makes a run depends on the variables of its program. */
static bool is_name(const char *text, size_t length)
{
    bool is_word = length > 0 && (text[0] < '0' || text[0] > '9');
    for (size_t i = 0; is_word && i < length; i++)
        is_word = text[i] != '\0' && strchr(letters, text[i]) != NULL;
    return is_word && length <= ENVIRONMENT_NAME_MAX;
}

static struct variable *find(const struct environment *environment, const struct variable *wanted)
{
    for (size_t i = 0; i < environment->count; i++) {
        struct variable *known = &environment->variables[i];
        if (known->source == wanted->source && known->language == wanted->language &&
            known->name_length == wanted->name_length &&
            memcmp(known->text, wanted->text, known->name_length) == 0)
            return known;
    }
    return NULL;
}

/* Takes over the variable's text, in any case. */
static int put(struct environment *environment, struct variable variable, struct fault *fault)
{
    OWNED_MEMORY char *text = variable.text;
    struct variable *known = find(environment, &variable);
    size_t bytes = environment->bytes + strlen(text) - (known != NULL ? strlen(known->text) : 0);
    if (bytes > ENVIRONMENT_BYTES_MAX)
        return fault_set(fault, EINVAL,
                         "the variables for snippets are longer than %llu KiB together",
                         (unsigned long long)(ENVIRONMENT_BYTES_MAX / KIBIBYTE));
    if (known == NULL && environment->count == ENVIRONMENT_COUNT_MAX)
        return fault_set(fault, EINVAL, "there are more than %d variables for snippets",
                         ENVIRONMENT_COUNT_MAX);
    if (known == NULL) {
        struct variable *grown =
            reallocarray(environment->variables, environment->count + 1, sizeof(*grown));
        if (grown == NULL)
            return fault_set(fault, ENOMEM, "reading the environment: %m");
        environment->variables = grown;
        known = &grown[environment->count++];
        *known = variable;
    } else {
        free(known->text);
    }
    known->text = pointer_take(&text);
    environment->bytes = bytes;
    return 0;
}

/* Only words of ours are shown: what was written may be a part of a secret. */
static int refuse_language(const char *what, const char *word, struct fault *fault)
{
    char names[LANGUAGE_NAMES_SIZE];
    const char *nearest = language_guess(word);
    return fault_set(fault, EINVAL, "%s: the language before the colon must be %s%s%s%s", what,
                     language_names(names), nearest != NULL ? " (did you mean " : "",
                     nearest != NULL ? nearest : "", nearest != NULL ? "?)" : "");
}

/* Takes "python:" off the front of `*length` bytes, if it is there. */
static int read_language(const char *what, const char **text, size_t *length,
                         const struct language **ret_language, struct fault *fault)
{
    const char *colon = memchr(*text, ':', *length);
    *ret_language = NULL;
    if (colon == NULL)
        return 0;
    char word[32] = "";
    size_t word_length = (size_t)(colon - *text);
    if (word_length < sizeof(word))
        memcpy(word, *text, word_length);
    const struct language *language = language_find(word);
    if (language == NULL)
        return refuse_language(what, word, fault);
    *ret_language = language;
    *text += word_length + 1;
    *length -= word_length + 1;
    return 0;
}

static int refuse_name(const char *what, const char *name, size_t length, struct fault *fault)
{
    static const char export[] = "export ";
    if (length > strlen(export) && memcmp(name, export, strlen(export)) == 0)
        return fault_set(fault, EINVAL, "%s: leave out \"export\", write NAME=VALUE", what);
    return fault_set(fault, EINVAL,
                     "%s: the name before the = must have letters, digits and _ only, no digit at "
                     "its start, and at most %d bytes",
                     what, ENVIRONMENT_NAME_MAX);
}

int environment_set(struct environment *environment, enum environment_source source,
                    const char *what, const char *text, size_t length, struct fault *fault)
{
    const char *equals = memchr(text, '=', length);
    if (equals == NULL)
        return fault_set(fault, EINVAL,
                         "%s must be NAME=VALUE, or LANGUAGE:NAME=VALUE for one language: TZ=UTC, "
                         "python:TZ=UTC",
                         what);
    const char *end = text + length;
    struct variable variable = {.source = source, .name_length = (size_t)(equals - text)};
    int r = read_language(what, &text, &variable.name_length, &variable.language, fault);
    if (r < 0)
        return r;
    if (!is_name(text, variable.name_length))
        return refuse_name(what, text, variable.name_length, fault);
    if (memchr(equals, '\0', (size_t)(end - equals)) != NULL)
        return fault_set(fault, EINVAL, "%s: the value of %.*s has a NUL byte in it", what,
                         (int)variable.name_length, text);
    if ((size_t)(end - text) > ENVIRONMENT_TEXT_MAX)
        return fault_set(fault, EINVAL,
                         "%s: the value of %.*s is longer than %llu KiB, the most that Linux "
                         "passes to a program: give it a file instead",
                         what, (int)variable.name_length, text,
                         (unsigned long long)(ENVIRONMENT_TEXT_MAX / KIBIBYTE));
    variable.text = strndup(text, (size_t)(end - text));
    if (variable.text == NULL)
        return fault_set(fault, ENOMEM, "reading %s: %m", what);
    r = put(environment, variable, fault);
    if (r < 0)
        fault_prefix(fault, "%s", what);
    return r;
}

int environment_pass(struct environment *environment, const char *name, size_t length,
                     struct fault *fault)
{
    if (memchr(name, '=', length) != NULL)
        return fault_set(fault, EINVAL,
                         "give names only, without = and a value: the values come from this "
                         "program's own environment; --env and --env-file set others");
    if (!is_name(name, length))
        return fault_set(fault, EINVAL,
                         "\"%.*s\" is not a variable name: give names only; the values come from "
                         "this program's own environment",
                         length < 40 ? (int)length : 40, name);
    OWNED_MEMORY char *key = strndup(name, length);
    if (key == NULL)
        return fault_set(fault, ENOMEM, "reading the environment: %m");
    const char *value = getenv(key);
    struct variable variable = {.source = ENVIRONMENT_PASSED, .name_length = length};
    if (value == NULL)
        variable.text = pointer_take(&key);
    else if (asprintf(&variable.text, "%s=%s", key, value) < 0)
        return fault_set(fault, ENOMEM, "reading the environment: %m");
    return put(environment, variable, fault);
}

static bool is_left_out(const char *line, size_t length)
{
    size_t at = 0;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    return at == length || line[at] == '#';
}

int environment_read_text(struct environment *environment, const char *path, const char *text,
                          size_t length, struct fault *fault)
{
    const char *end = text + length;
    const char *line = text;
    size_t mark = strlen(BYTE_ORDER_MARK);
    if (length >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0)
        line += mark;
    int r = 0;
    for (size_t number = 1; r == 0 && line < end; number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *next = newline != NULL ? newline + 1 : end;
        size_t used = (size_t)((newline != NULL ? newline : end) - line);
        if (used > 0 && line[used - 1] == '\r')
            used--;
        char what[WHAT_MAX];
        snprintf(what, sizeof(what), "line %zu of %s", number, path);
        if (!is_left_out(line, used))
            r = environment_set(environment, ENVIRONMENT_FILE, what, line, used, fault);
        line = next;
    }
    return r;
}

int environment_read_file(struct environment *environment, const char *what, const char *path,
                          struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(ENVIRONMENT_FILE_MAX * 2);
    int r =
        small_file_read_private(path, "the environment file", ENVIRONMENT_FILE_MAX, &text, fault);
    if (r == -ENOENT)
        fault_set(fault, ENOENT, "there is no environment file %s", path);
    if (r == 0 && text.length > 0)
        r = environment_read_text(environment, path, text.data, text.length, fault);
    if (r < 0)
        fault_prefix(fault, "%s", what);
    return r;
}

static bool is_missing(const struct variable *variable)
{
    return variable->text[variable->name_length] == '\0';
}

size_t environment_for(const struct environment *environment, const struct language *language,
                       const char **ret_texts)
{
    size_t count = 0;
    for (unsigned source = 0; source < ENVIRONMENT_SOURCE_COUNT; source++) {
        const struct language *const owners[] = {NULL, language};
        for (size_t i = 0; i < (language != NULL ? ARRAY_LENGTH(owners) : 1); i++) {
            for (size_t j = 0; j < environment->count; j++) {
                const struct variable *variable = &environment->variables[j];
                if (variable->source == source && variable->language == owners[i] &&
                    !is_missing(variable))
                    ret_texts[count++] = variable->text;
            }
        }
    }
    return count;
}

static bool has_value(const struct environment *environment, struct variable variable)
{
    while (++variable.source < ENVIRONMENT_SOURCE_COUNT) {
        if (find(environment, &variable) != NULL)
            return true;
    }
    return false;
}

void environment_note_missing(const struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++) {
        const struct variable *variable = &environment->variables[i];
        if (is_missing(variable) && !has_value(environment, *variable))
            log_note("%s is not set in this program's environment, so --pass-through-env cannot "
                     "pass it to snippets",
                     variable->text);
    }
}
