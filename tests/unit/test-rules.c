#include "interpreter/rules/check_answer.h"
#include "interpreter/rules/findings_text.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void read_rules(const char *match, struct rules *rules)
{
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    struct fault fault = {0};
    buffer_format(
        &text,
        "{\"rules\": [{\"id\": \"a\", \"severity\": \"refuse\", \"match\": %s, \"message\": "
        "\"No.\"}], \"dynamic\": \"allow\"}",
        match);
    if (rules_parse("test", &text, rules, &fault) < 0)
        fail_msg("%s", fault.text);
}

static bool meets(const char *match, enum fact_kind kind, const char *name)
{
    struct rules rules;
    struct findings findings = {.count = 0};
    read_rules(match, &rules);
    const struct fact fact = {kind, name, 2, 7};
    assert_int_equal(rules_judge(&rules, &fact, 1, &findings), 0);
    bool met = findings.count == 1;
    findings_release(&findings);
    rules_release(&rules);
    return met;
}

static void import_meets_module_and_what_is_below(void **state)
{
    (void)state;
    const char *match = "{\"import\": [\"subprocess\", \"fs\"]}";
    assert_true(meets(match, FACT_IMPORT, "subprocess"));
    assert_true(meets(match, FACT_NAME, "subprocess.run"));
    assert_true(meets(match, FACT_IMPORT, "fs/promises"));
    assert_false(meets(match, FACT_IMPORT, "subprocess32"));
    assert_false(meets(match, FACT_IMPORT, "my.subprocess"));
    assert_false(meets(match, FACT_LITERAL, "subprocess"));
    assert_false(meets(match, FACT_MISSING, "subprocess"));
}

static void call_meets_names_by_pattern(void **state)
{
    (void)state;
    const char *match = "{\"call\": [\"os.exec*\", \"eval\"]}";
    assert_true(meets(match, FACT_NAME, "os.execv"));
    assert_true(meets(match, FACT_NAME, "os.execv.__call__"));
    assert_true(meets(match, FACT_NAME, "eval"));
    assert_false(meets(match, FACT_NAME, "os.system"));
    assert_false(meets(match, FACT_NAME, "evaluate"));
    assert_false(meets(match, FACT_IMPORT, "os.execv"));
    assert_true(meets("{\"call\": \"*.system\"}", FACT_NAME, "a.b.system.c"));
    assert_true(meets("{\"call\": \"a.*\"}", FACT_NAME, "a.b.c.d.e.f.g.h.i.j.k.l"));
    assert_false(meets("{\"call\": \"z.*\"}", FACT_NAME, "a.b.c.d.e.f.g.h.i.j.k.l"));
}

static void literal_is_a_regular_expression(void **state)
{
    (void)state;
    const char *match = "{\"literal\": [\"^sk-[a-z]{3}$\"]}";
    assert_true(meets(match, FACT_LITERAL, "sk-abc"));
    assert_false(meets(match, FACT_LITERAL, "sk-abcd"));
    assert_false(meets(match, FACT_NAME, "sk-abc"));
    assert_true(meets("{\"missing_module\": true}", FACT_MISSING, "polars"));
    assert_false(meets("{\"missing_module\": true}", FACT_IMPORT, "polars"));
}

static void answer_is_judged_or_counts_as_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_answer;
        size_t findings;
    } cases[] = {
        {"{\"facts\": [[\"import\", \"os\", 1, 1]]}", true, 1},
        {"{\"facts\": [[\"import\", \"os\", 1, 1], [\"name\", \"os.x\", 1, 1]]}", true, 1},
        {"{\"facts\": [[\"import\", \"os\", 1, 1], [\"name\", \"os.x\", 2, 1]]}", true, 2},
        {"{\"facts\": []}", true, 0},
        {"{\"unparsed\": \"why\"}", true, 0}, /* the rules allow it */
        {"{\"facts\": [[\"import\", \"os\", 1, 1], [\"import\", \"os\", 0, 1]]}", false, 0},
        {"{\"facts\": [[\"unparsed\", \"os\", 1, 1]]}", false, 0},
        {"{\"facts\": [[\"import\", 1, 1, 1]]}", false, 0},
        {"{\"facts\": {}}", false, 0},
        {"", false, 0},
        {"{\"facts\": []} x", false, 0},
    };
    struct rules rules;
    read_rules("{\"import\": \"os\"}", &rules);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct findings findings = {.count = 0};
        const char *why =
            check_answer_read(&rules, cases[i].text, strlen(cases[i].text), &findings);
        if ((why == NULL) != cases[i].is_answer || findings.count != cases[i].findings)
            fail_msg("%s", cases[i].text);
        findings_release(&findings);
    }
    rules_release(&rules);
}

static void findings_are_told_in_lines(void **state)
{
    (void)state;
    struct rules rules;
    struct fact facts[12];
    struct findings findings = {.count = 0};
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    read_rules("{\"import\": \"os\"}", &rules);
    for (unsigned i = 0; i < ARRAY_LENGTH(facts); i++)
        facts[i] = (struct fact){FACT_NAME, "os.x", i + 1, 1};
    assert_int_equal(rules_judge(&rules, facts, ARRAY_LENGTH(facts), &findings), 0);
    assert_int_equal(findings_severity(&findings), SEVERITY_REFUSE);
    assert_int_equal(findings_text_list(&findings, SEVERITY_REFUSE, "Not run: ", &text), 0);
    const char *lines = buffer_string(&text);
    assert_ptr_equal(strstr(lines, "Not run: line 1 uses os.x (rule a): No.\nNot run: line 2"),
                     lines);
    assert_non_null(
        strstr(lines, "\nNot run: line 10 uses os.x (rule a): No.\nNot run: and 2 more"));
    text.length = 0;
    assert_int_equal(findings_text_list(&findings, SEVERITY_WARN, "", &text), 0);
    assert_int_equal(text.length, 0);
    findings_release(&findings);
    rules_release(&rules);
}

static void presets_can_be_read(void **state)
{
    (void)state;
    static const char *const names[] = {"off", "hints", "strict"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct rules rules;
        struct fault fault = {0};
        assert_int_equal(rules_read(names[i], &rules, &fault), 0);
        assert_int_equal(rules_are_there(&rules), i > 0);
        rules_release(&rules);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_meets_module_and_what_is_below),
        cmocka_unit_test(call_meets_names_by_pattern),
        cmocka_unit_test(literal_is_a_regular_expression),
        cmocka_unit_test(answer_is_judged_or_counts_as_none),
        cmocka_unit_test(findings_are_told_in_lines),
        cmocka_unit_test(presets_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
