/* The answer of a checker: any bytes. What is accepted is judged, and told in words and JSON. */
#include "interpreter/rules/check_answer.h"
#include "interpreter/rules/findings_text.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char rules_text[] =
    "{\"rules\": [{\"id\": \"a\", \"severity\": \"refuse\", \"match\": {\"import\": [\"sub*\"], \"call\": [\"os.exec*\"], "
    "\"literal\": [\"^a+b?$\"]}}, {\"id\": \"m\", \"severity\": \"warn\", \"match\": {\"missing_module\": true}}], "
    "\"dynamic\": \"warn\", \"unparsed\": \"refuse\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rules rules;
    struct findings findings = {.count = 0};
    OWNED(buffer_release) struct buffer text = BUFFER(1 << 20);
    struct json_writer *writer = NULL;
    if (rules.count == 0) {
        FUZZ_CHECK(buffer_append_text(&text, rules_text) == 0 &&
                   rules_parse("rules", &text, &rules, NULL) == 0);
        text.length = 0;
    }
    const char *why = check_answer_read(&rules, (const char *)data, size, &findings);
    FUZZ_CHECK(why == NULL || findings.count == 0);
    FUZZ_CHECK(findings.count <= FINDINGS_MAX);
    for (size_t i = 0; i < findings.count; i++)
        FUZZ_CHECK(findings.list[i].line > 0 && findings.list[i].severity != SEVERITY_ALLOW);
    FUZZ_CHECK(findings_text_list(&findings, SEVERITY_REFUSE, "x: ", &text) == 0);
    text.length = 0;
    FUZZ_CHECK(json_writer_open(&text, &writer) == 0);
    findings_text_write(writer, &findings);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    findings_release(&findings);
    return 0;
}
