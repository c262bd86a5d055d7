/*
 * A line of `batch`: any bytes. It is a call with all that a run needs, or a fault; the line of an error
 * with its id is JSON with the same id, and no result.
 */
#include "fleet/call_line.h"
#include "fleet/result_line.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define WALL_MAX_MS 60000
#define LINE_NUMBER 3

static void check_call(const struct call_line *call, const struct json_value *line)
{
    const struct snippet *snippet = &call->arguments.snippet;
    FUZZ_CHECK(line != NULL && line->type == JSON_OBJECT && call->arguments.session == NULL);
    FUZZ_CHECK(snippet->language != NULL &&
               json_is(json_member(line, "language"), snippet->language->name));
    const struct json_value *code = json_member(line, "code");
    FUZZ_CHECK(code != NULL && code->type == JSON_STRING && code->length == snippet->length &&
               snippet->length <= CODE_MAX && memcmp(code->text, snippet->code, code->length) == 0);
    FUZZ_CHECK(snippet->wall_ms >= 0 && snippet->wall_ms <= WALL_MAX_MS);
}

/* The id as it is written comes back as it was read. */
static void check_id(const struct call_line *call, const struct json_value *line)
{
    OWNED(buffer_release) struct buffer text = BUFFER(8192 + CALL_ID_MAX);
    OWNED(buffer_release) struct buffer again = BUFFER(CALL_ID_MAX);
    const struct fault fault = {.text = "it failed"};
    const struct result_head head = {&call->id, LINE_NUMBER};
    FUZZ_CHECK(result_line_write_error(&head, &fault, &text) == 0);
    FUZZ_CHECK(memchr(text.data, '\n', text.length) == NULL);
    OWNED(json_release) struct json *json = fuzz_parse(&text);
    const struct json_value *id = json_member(json_root(json), "id");
    FUZZ_CHECK(id != NULL && (id->type == JSON_NULL) == (call->id.length == 0));
    FUZZ_CHECK(result_line_read_id(text.data, text.length, &again) == 0 && again.length == 0);
    if (id->type == JSON_NULL)
        return;
    const struct json_value *given = json_member(line, "id");
    FUZZ_CHECK(given != NULL && given->type == id->type && given->length == id->length &&
               memcmp(given->text, id->text, id->length) == 0);
    FUZZ_CHECK(call_line_id(id, &again, NULL) == 0 && again.length == call->id.length &&
               memcmp(again.data, call->id.data, again.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(settings_release) struct settings settings = settings_default();
    settings.wall_max_ms = WALL_MAX_MS;
    settings.sessions = 0;
    OWNED(call_line_release) struct call_line call;
    OWNED(buffer_release) struct buffer id = BUFFER(CALL_ID_MAX);
    struct fault fault = {0};
    int r = call_line_read(&call, &settings, (const char *)data, size, &fault);
    fuzz_check_fault(r, &fault);
    fuzz_check_plain(fault.text, true);
    const struct json_value *line = call.json != NULL ? json_root(call.json) : NULL;
    if (r == 0)
        check_call(&call, line);
    check_id(&call, line);
    r = result_line_read_id((const char *)data, size, &id);
    FUZZ_CHECK(r <= 1 && (r == 1) == (id.length > 0));
    return line != NULL ? 0 : -1;
}
