#include "fleet/call_line.h"
#include "fleet/result_line.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct settings settings_of_batch(void)
{
    struct settings settings = settings_default();
    settings.wall_max_ms = 60000;
    settings.sessions = 0;
    return settings;
}

static void reads_all_members(void **state)
{
    (void)state;
    static const char line[] =
        "{\"id\": \"a\\u0301\", \"language\": \"javascript\", \"code\": \"1\\n\", \"stdin\": \"in\", "
        "\"timeout_seconds\": 1.5, \"files\": [{\"name\": \"x\", \"text\": \"y\"}]}";
    OWNED(settings_release) struct settings settings = settings_of_batch();
    OWNED(call_line_release) struct call_line call;
    struct fault fault = {0};
    assert_int_equal(call_line_read(&call, &settings, line, strlen(line), &fault), 0);
    const struct snippet *snippet = &call.arguments.snippet;
    assert_string_equal(buffer_string(&call.id), "\"a\xcc\x81\"");
    assert_string_equal(snippet->language->name, "javascript");
    assert_int_equal(snippet->length, 2);
    assert_memory_equal(snippet->code, "1\n", 2);
    assert_int_equal(snippet->wall_ms, 1500);
    assert_int_equal(snippet->stdin_source.length, 2);
    assert_int_equal(snippet->input_count, 1);
}

static void names_what_is_wrong_and_keeps_the_id(void **state)
{
    (void)state;
    static const struct {
        const char *line, *id, *words;
    } rows[] = {
        {"", "", "not valid JSON"},
        {"{\"id\": 1", "", "not valid JSON"},
        {"[]", "", "not a JSON object"},
        {"{\"id\": 1}", "1", "\"language\" is missing"},
        {"{\"id\": 1, \"language\": 2}", "1", "\"language\" is not a string"},
        {"{\"id\": 1, \"language\": \"ruby\"}", "1", "not \"ruby\""},
        {"{\"id\": 1, \"language\": \"python\\u0000\"}", "1", "\"language\" must be"},
        {"{\"id\": 1, \"language\": \"python\"}", "1", "\"code\" is missing"},
        {"{\"id\": 1, \"language\": \"python\", \"code\": null}", "1", "\"code\" is null"},
        {"{\"id\": 1, \"language\": \"python\", \"code\": \"\", \"sesion\": 1}", "1",
         "no argument \"sesion\""},
        {"{\"id\": 1, \"language\": \"python\", \"code\": \"\", \"session\": \"new\"}", "1",
         "no argument \"session\""},
        {"{\"id\": 1, \"language\": \"python\", \"code\": \"\", \"timeout_seconds\": 61}", "1",
         "timeout_seconds"},
        {"{\"id\": 1.5, \"language\": \"python\", \"code\": \"\"}", "", "\"id\" must be"},
        {"{\"id\": [], \"language\": \"python\", \"code\": \"\"}", "", "\"id\" must be"},
    };
    OWNED(settings_release) struct settings settings = settings_of_batch();
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        OWNED(call_line_release) struct call_line call;
        struct fault fault = {0};
        int r = call_line_read(&call, &settings, rows[i].line, strlen(rows[i].line), &fault);
        const char *id = buffer_string(&call.id);
        if (r >= 0 || strstr(fault.text, rows[i].words) == NULL ||
            strcmp(call.id.length > 0 ? id : "", rows[i].id) != 0)
            fail_msg("%s: %d, %s, %s", rows[i].line, r, fault.text, id);
    }
}

static void an_id_has_a_bound(void **state)
{
    (void)state;
    char line[CALL_ID_MAX + 128];
    OWNED(settings_release) struct settings settings = settings_of_batch();
    for (int more = 0; more < 2; more++) {
        OWNED(call_line_release) struct call_line call;
        struct fault fault = {0};
        int length =
            snprintf(line, sizeof(line), "{\"id\":\"%0*d\",\"language\":\"python\",\"code\":\"\"}",
                     CALL_ID_MAX - 2 + more, 0);
        int r = call_line_read(&call, &settings, line, (size_t)length, &fault);
        assert_int_equal(r < 0, more);
        assert_int_equal(call.id.length, more == 0 ? CALL_ID_MAX : 0);
    }
}

static void an_error_has_the_id_and_can_be_told_from_a_result(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer id = BUFFER(64);
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    OWNED(buffer_release) struct buffer found = BUFFER(64);
    const struct fault fault = {.id = "x", .text = "why"};
    const struct result_head head = {&id, 7};
    assert_int_equal(result_line_write_error(&head, &fault, &text), 0);
    assert_string_equal(buffer_string(&text),
                        "{\"id\":null,\"line\":7,\"error\":{\"id\":\"x\",\"message\":\"why\"}}");
    text.length = 0;
    buffer_append_text(&id, "\"a\"");
    assert_int_equal(result_line_write_error(&head, &fault, &text), 0);
    assert_int_equal(result_line_read_id(text.data, text.length, &found), 0);
    static const char result[] = "{\"outcome\":\"exited\",\"id\":\"\\u0061\"}";
    assert_int_equal(result_line_read_id(result, strlen(result), &found), 1);
    assert_string_equal(buffer_string(&found), "\"a\"");
    static const char *const others[] = {"{\"outcome\":\"exited\",\"id\":", "[]", "{}",
                                         "{\"id\":1}", "{\"id\":1,\"outcome\":2}"};
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_true(result_line_read_id(others[i], strlen(others[i]), &found) < 0);
}

static void reads_what_is_carried_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *carry, *words; /* NULL: it is read */
    } rows[] = {
        {"{}", NULL},
        {"{\"stdin\": \"AA==\", \"arguments\": [\"a\"], \"files\": true}", NULL},
        {"{\"arguments\": []}", NULL},
        {"null", "must be an object"},
        {"[]", "must be an object"},
        {"1", "must be an object"},
        {"{\"files\": 1}", "unknown member"},
        {"{\"mount\": \"/\"}", "unknown member"},
        {"{\"stdin\": \"!\"}", "must be base64"},
        {"{\"stdin\": 1}", "must be base64"},
        {"{\"arguments\": {}}", "must be an array"},
        {"{\"arguments\": \"a\"}", "must be an array"},
        {"{\"arguments\": [1]}", "must be a string"},
        {"{\"arguments\": [\"a\\u0000\"]}", "must be a string"},
        {"{\"files\": true, \"files\": false}", "files"},
    };
    OWNED(settings_release) struct settings settings = settings_of_batch();
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        OWNED(call_line_release) struct call_line call;
        OWNED(buffer_release) struct buffer line = BUFFER(1024);
        struct fault fault = {0};
        buffer_format(&line, "{\"id\": 7, \"language\": \"bash\", \"code\": \"\", \"carry\": %s}",
                      rows[i].carry);
        int r = call_line_read_carried(&call, &settings, line.data, line.length, &fault);
        assert_int_equal(r == 0, rows[i].words == NULL);
        assert_true(rows[i].words == NULL || strstr(fault.text, rows[i].words) != NULL);
        assert_string_equal(buffer_string(&call.id), "7");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_members),
        cmocka_unit_test(names_what_is_wrong_and_keeps_the_id),
        cmocka_unit_test(an_id_has_a_bound),
        cmocka_unit_test(an_error_has_the_id_and_can_be_told_from_a_result),
        cmocka_unit_test(reads_what_is_carried_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
