#include "tests/fuzz/wire.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* In the place of interpreter/base/log.c: millions of notes on stderr would be of no use. */
void log_note(const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    FUZZ_CHECK(vsnprintf(line, sizeof(line), format, arguments) >= 0);
    va_end(arguments);
}

void log_note_lines(const char *text)
{
    (void)text;
}

void log_call(const struct log_call *call)
{
    FUZZ_CHECK(call->tool != NULL && call->outcome != NULL && call->total_ns >= 0);
}

static void check_answer(const struct json_value *answer)
{
    FUZZ_CHECK(answer->type == JSON_OBJECT);
    FUZZ_CHECK(json_is(json_member(answer, "jsonrpc"), "2.0"));
    const struct json_value *id = json_member(answer, "id");
    const struct json_value *error = json_member(answer, "error");
    FUZZ_CHECK(answer->count == (id != NULL ? 3 : 2));
    FUZZ_CHECK(error != NULL ||
               (id != NULL && (id->type == JSON_STRING || id->type == JSON_NUMBER)));
    FUZZ_CHECK((error != NULL) != (json_member(answer, "result") != NULL));
    if (error == NULL)
        return;
    int64_t code = 0;
    FUZZ_CHECK(json_integer(json_member(error, "code"), &code) == 0 && code < 0);
    const struct json_value *message = json_member(error, "message");
    FUZZ_CHECK(message != NULL && message->type == JSON_STRING && message->length > 0);
}

size_t wire_check_line(const char *line, size_t length)
{
    FUZZ_CHECK(length > 0 && length < LINE_OUT_MAX);
    FUZZ_CHECK(memchr(line, '\n', length) == NULL);
    struct buffer text = {.data = (char *)line, .length = length};
    OWNED(json_release) struct json *json = fuzz_parse(&text);
    const struct json_value *root = json_root(json);
    if (json_member(root, "method") != NULL) {
        bool is_request = json_is(json_member(root, "method"), "code-sandbox/call");
        FUZZ_CHECK((json_member(root, "id") != NULL) == is_request);
        FUZZ_CHECK(root->count == (is_request ? 4 : 3) &&
                   json_is(json_member(root, "jsonrpc"), "2.0"));
        FUZZ_CHECK(json_member(root, "params") != NULL);
        return 0;
    }
    if (root->type != JSON_ARRAY) {
        check_answer(root);
        return 1;
    }
    FUZZ_CHECK(root->count > 0);
    for (const struct json_value *answer = root->first; answer != NULL; answer = answer->next)
        check_answer(answer);
    return root->count;
}

/* A notification is a request without an id; answers are not answered. */
static bool is_owed_one(const struct json_value *message)
{
    const struct json_value *method = json_member(message, "method");
    if (message->type != JSON_OBJECT)
        return true;
    if (method == NULL)
        return json_member(message, "result") == NULL && json_member(message, "error") == NULL;
    return json_member(message, "id") != NULL || method->type != JSON_STRING;
}

size_t wire_answers_owed(const char *line, size_t length, int batches)
{
    size_t blanks = 0;
    while (blanks < length && memchr(" \t\r", line[blanks], 3) != NULL)
        blanks++;
    OWNED(json_release) struct json *json = NULL;
    if (blanks == length)
        return 0;
    if (json_parse(line, length, &json, NULL) < 0)
        return 1;
    const struct json_value *root = json_root(json);
    if (root->type != JSON_ARRAY)
        return is_owed_one(root) ? 1 : 0;
    if (!batches || root->count == 0 || root->count > BATCH_MAX)
        return 1;
    size_t owed = 0;
    for (const struct json_value *message = root->first; message != NULL; message = message->next)
        owed += is_owed_one(message) ? 1 : 0;
    return owed;
}
