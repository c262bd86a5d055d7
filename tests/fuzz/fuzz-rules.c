/* A file of rules: any bytes. What is accepted judges some facts. */
#include "interpreter/rules/rules.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fact facts[] = {
        {FACT_IMPORT, "subprocess", 1, 1}, {FACT_NAME, "os.execv", 2, 1},
        {FACT_LITERAL, "aaaa", 3, 1},      {FACT_MISSING, "x", 4, 1},
        {FACT_DYNAMIC, "exec", 5, 1},
    };
    struct rules rules;
    struct findings findings = {.count = 0};
    struct fault fault = {0};
    const struct buffer text = {(char *)data, size, size, size};
    if (size > RULES_FILE_MAX)
        return 0;
    if (rules_parse("file", &text, &rules, &fault) < 0) {
        FUZZ_CHECK(fault.text[0] != '\0' && rules.count == 0 && rules.list == NULL);
        return 0;
    }
    FUZZ_CHECK(rules_judge(&rules, facts, ARRAY_LENGTH(facts), &findings) == 0);
    FUZZ_CHECK(rules_judge_unparsed(&rules, "x", &findings) == 0);
    FUZZ_CHECK(findings.count <= FINDINGS_MAX);
    FUZZ_CHECK(rules_are_there(&rules) || findings.count == 0);
    findings_release(&findings);
    rules_release(&rules);
    return 0;
}
