/* The other names of a host: what a client calls it over a connection, and what its name leads to. */
#include "sandbox/base/owned.h"
#include "sandbox/network/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Rules separated by spaces; "-" before one is of RULES_DENY. */
static void read_rules(struct policy *policy, const char *rules)
{
    OWNED_MEMORY char *copy = strdup(rules);
    char *rest = NULL;
    for (char *rule = strtok_r(copy, " ", &rest); rule != NULL; rule = strtok_r(NULL, " ", &rest)) {
        bool is_denial = rule[0] == '-';
        struct fault fault = {0};
        if (policy_add(policy, is_denial ? RULES_DENY : RULES_ALLOW, rule + is_denial, &fault) != 0)
            fail_msg("%s: %s", rule, fault.text);
    }
}

#define ALLOW NETWORK_ALLOW
#define ON NETWORK_ON
#define YES REFUSAL_NONE
#define LISTED REFUSAL_NOT_LISTED
#define DENIED REFUSAL_DENIED
#define PRIVATE REFUSAL_PRIVATE

struct claim_case {
    enum network_mode mode;
    const char *rules;
    const char *host, *claimed;
    enum refusal expected; /* at port 443 */
};

static const struct claim_case claim_cases[] = {
    {ON, "-evil.org", "8.8.8.8", "evil.org", DENIED},
    {ON, "-*.evil.org", "8.8.8.8", "a.evil.org", DENIED},
    {ON, "-evil.org:443", "8.8.8.8", "evil.org", DENIED},
    {ON, "-evil.org:80", "8.8.8.8", "evil.org", YES},
    {ON, "-evil.org", "8.8.8.8", "good.org", YES},
    {ON, "-evil.org", "8.8.8.8", "8.8.8.8", YES},
    {ON, "-evil.org", "8.8.8.8", "10.0.0.1", PRIVATE},
    {ON, "-evil.org", "8.8.8.8", "0x0a000001", LISTED},
    {ON, "-evil.org -1.1.1.1", "8.8.8.8", "1.1.1.1", DENIED},
    {ON, "-evil.org", "good.org", "evil.org", DENIED},
    {ON, "", "good.org", "other.org", YES},
    {ALLOW, "8.8.8.8 -evil.org", "8.8.8.8", "evil.org", DENIED},
    {ALLOW, "8.8.8.8 -evil.org", "8.8.8.8", "good.org", YES},
    {ALLOW, "8.8.8.8 -evil.org", "8.8.8.8", "1.1.1.1", LISTED},
    {ALLOW, "a.org b.org", "a.org", "b.org", YES},
    {ALLOW, "a.org b.org", "a.org", "a.org", YES},
    {ALLOW, "a.org b.org", "a.org", "c.org", LISTED},
    {ALLOW, "a.org b.org:80", "a.org", "b.org", LISTED},
};

static void decides_on_names_over_a_connection(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(claim_cases); i++) {
        const struct claim_case *row = &claim_cases[i];
        OWNED(policy_release) struct policy policy = POLICY_OFF;
        policy.mode = row->mode;
        read_rules(&policy, row->rules);
        struct policy_verdict verdict = policy_judge_claim(&policy, row->host, row->claimed, 443);
        if (verdict.refusal != row->expected)
            fail_msg("%s: %s over %s is %s", row->rules, row->claimed, row->host,
                     refusal_name(verdict.refusal));
    }
}

static void knows_whether_names_are_denied(void **state)
{
    (void)state;
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    read_rules(&policy, "-8.8.8.8 evil.org");
    assert_false(policy_denies_names(&policy));
    read_rules(&policy, "-evil.org:80");
    assert_true(policy_denies_names(&policy));
}

static void collects_the_ports_denied_of_other_names(void **state)
{
    (void)state;
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    struct policy_ports denied = {0};
    read_rules(&policy, "-a.org:80 -*.b.org:22 -c.org");
    assert_int_equal(policy_judge_alias(&policy, "good.org", &denied).refusal, YES);
    assert_int_equal(denied.count, 0);
    assert_int_equal(policy_judge_alias(&policy, "a.org", &denied).refusal, YES);
    assert_int_equal(policy_judge_alias(&policy, "x.b.org", &denied).refusal, YES);
    assert_true(policy_ports_have(&denied, 80) && policy_ports_have(&denied, 22));
    assert_false(policy_ports_have(&denied, 443));
    assert_int_equal(policy_judge_alias(&policy, "c.org", &denied).refusal, DENIED);
    assert_true(policy_ports_have(&denied, 443));
}

static void denies_all_ports_of_a_name_with_too_many_denied_ones(void **state)
{
    (void)state;
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    struct policy_ports denied = {0};
    char rule[32];
    for (int i = 0; i <= POLICY_PORTS_MAX; i++) {
        snprintf(rule, sizeof(rule), "-a.org:%d", 1000 + i);
        read_rules(&policy, rule);
    }
    assert_int_equal(policy_judge_alias(&policy, "a.org", &denied).refusal, DENIED);
    assert_true(policy_ports_have(&denied, 443));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides_on_names_over_a_connection),
        cmocka_unit_test(knows_whether_names_are_denied),
        cmocka_unit_test(collects_the_ports_denied_of_other_names),
        cmocka_unit_test(denies_all_ports_of_a_name_with_too_many_denied_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
