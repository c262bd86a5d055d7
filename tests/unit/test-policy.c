#include "sandbox/base/owned.h"
#include "sandbox/network/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Rules separated by spaces; "-" before one is of RULES_DENY, "@" of RULES_MAP. */
static void read_rules(struct policy *policy, const char *rules)
{
    OWNED_MEMORY char *copy = strdup(rules);
    char *rest = NULL;
    for (char *rule = strtok_r(copy, " ", &rest); rule != NULL; rule = strtok_r(NULL, " ", &rest)) {
        enum rule_list list = rule[0] == '-'   ? RULES_DENY
                              : rule[0] == '@' ? RULES_MAP
                                               : RULES_ALLOW;
        struct fault fault = {0};
        if (policy_add(policy, list, rule + (list != RULES_ALLOW), &fault) != 0)
            fail_msg("%s: %s", rule, fault.text);
    }
}

#define ALLOW NETWORK_ALLOW
#define ON NETWORK_ON
#define YES REFUSAL_NONE
#define LISTED REFUSAL_NOT_LISTED
#define DENIED REFUSAL_DENIED
#define PRIVATE REFUSAL_PRIVATE
#define HOST REFUSAL_HOST_ITSELF
#define META REFUSAL_METADATA

struct host_case {
    enum network_mode mode;
    const char *rules;
    const char *name;
    uint16_t port;
    enum refusal expected;
};

static const struct host_case host_cases[] = {
    {ALLOW, "a.example.org", "a.example.org", 443, YES},
    {ALLOW, "a.example.org", "a.example.org", 80, YES},
    {ALLOW, "a.example.org", "a.example.org", 22, LISTED},
    {ALLOW, "a.example.org", "a.example.org", 8443, LISTED},
    {ALLOW, "A.Example.ORG.", "a.example.org", 443, YES},
    {ALLOW, "a.example.org", "b.example.org", 443, LISTED},
    {ALLOW, "a.example.org", "example.org", 443, LISTED},
    {ALLOW, "a.example.org", "x.a.example.org", 443, LISTED},
    {ALLOW, "a.example.org", "aa.example.org", 443, LISTED},
    {ALLOW, "example.org", "evilexample.org", 443, LISTED},
    {ALLOW, "example.org", "example.org.evil", 443, LISTED},
    {ALLOW, "example.org", "example.orgx", 443, LISTED},
    {ALLOW, "*.example.org", "example.org", 443, LISTED},
    {ALLOW, "*.example.org", "a.example.org", 443, YES},
    {ALLOW, "*.example.org", "a.b.c.example.org", 80, YES},
    {ALLOW, "*.example.org", "aexample.org", 443, LISTED},
    {ALLOW, "*.example.org", "a.example.org", 8080, LISTED},
    {ALLOW, "*.example.org:8080", "a.example.org", 8080, YES},
    {ALLOW, "*.example.org:8080", "a.example.org", 443, LISTED},
    {ALLOW, "*.example.org:*", "a.example.org", 1, YES},
    {ALLOW, "a.example.org:*", "a.example.org", 65535, YES},
    {ALLOW, "a.example.org:5432", "a.example.org", 5432, YES},
    {ALLOW, "a.example.org:5432", "a.example.org", 80, LISTED},
    {ALLOW, "a.example.org a.example.org:22", "a.example.org", 22, YES},
    {ALLOW, "a.example.org a.example.org:22", "a.example.org", 443, YES},
    {ALLOW, "xn--bcher-kva.example", "xn--bcher-kva.example", 443, YES},
    {ALLOW, "a_b.example.org", "a_b.example.org", 443, YES},
    {ALLOW, "*.example.org -a.example.org", "a.example.org", 443, DENIED},
    {ALLOW, "*.example.org -a.example.org", "b.example.org", 443, YES},
    {ALLOW, "*.example.org -a.example.org:443", "a.example.org", 80, YES},
    {ALLOW, "*.example.org -a.example.org:443", "a.example.org", 443, DENIED},
    {ALLOW, "a.example.org:* -*.example.org:22", "a.example.org", 22, DENIED},
    {ALLOW, "a.example.org -*.org", "a.example.org", 443, DENIED},
    {ALLOW, "@db.internal:5432=127.0.0.1:5432", "db.internal", 5432, YES},
    {ALLOW, "@db.internal:5432=127.0.0.1:5432", "db.internal", 5433, LISTED},
    {ALLOW, "@db.internal:5432=127.0.0.1:5432 -db.internal", "db.internal", 5432, DENIED},
    {ON, "", "a.example.org", 443, YES},
    {ON, "", "a.example.org", 22, YES},
    {ON, "", "a.example.org", 25, LISTED},
    {ON, "mail.example.org:25", "mail.example.org", 25, YES},
    {ON, "-a.example.org", "a.example.org", 443, DENIED},
    {ON, "-*.example.org", "example.org", 443, YES},
    {ON, "a.example.org -a.example.org", "a.example.org", 443, DENIED},
    {ON, "-*.com:22", "a.com", 22, DENIED},
    {ON, "-*.com:22", "a.com", 443, YES},
};

static void decides_on_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(host_cases); i++) {
        const struct host_case *row = &host_cases[i];
        OWNED(policy_release) struct policy policy = POLICY_OFF;
        policy.mode = row->mode;
        read_rules(&policy, row->rules);
        struct policy_verdict verdict = policy_judge_host(&policy, row->name, row->port);
        if (verdict.refusal != row->expected)
            fail_msg("%s: %s:%u is %s", row->rules, row->name, row->port,
                     refusal_name(verdict.refusal));
    }
}

struct name_case {
    enum network_mode mode;
    const char *rules;
    const char *name;
    enum refusal expected;
};

static const struct name_case name_cases[] = {
    {ALLOW, "a.example.org:22", "a.example.org", YES},
    {ALLOW, "a.example.org", "b.example.org", LISTED},
    {ALLOW, "*.example.org", "a.b.example.org", YES},
    {ALLOW, "*.example.org", "example.org", LISTED},
    {ALLOW, "10.0.0.0/8", "a.example.org", LISTED},
    {ALLOW, "a.example.org -a.example.org", "a.example.org", DENIED},
    {ALLOW, "a.example.org -a.example.org:443", "a.example.org", YES},
    {ALLOW, "@db.internal:1=127.0.0.1:1", "db.internal", YES},
    {ON, "", "a.example.org", YES},
    {ON, "", "10.0.0.1", LISTED},
    {ON, "", "0x7f.1", LISTED},
    {ON, "", "017700000001", LISTED},
    {ON, "-*.org", "a.example.org", DENIED},
    {ON, "", "8.8.8.8.in-addr.arpa", YES},
    {ON, "", "5.0.0.10.in-addr.arpa", PRIVATE},
    {ON, "10.0.0.0/8", "5.0.0.10.in-addr.arpa", YES},
    {ON, "", "1.0.0.127.in-addr.arpa", HOST},
    {ON, "", "254.169.254.169.in-addr.arpa", META},
    {ON, "-8.8.8.0/24", "8.8.8.8.in-addr.arpa", DENIED},
    {ON, "", "0.0.10.in-addr.arpa", LISTED},
    {ON, "", "in-addr.arpa", LISTED},
    {ON, "", "8.8.8.8.in-addr.arpa.example.org", YES},
    {ON, "", "8.8.8.08.in-addr.arpa", LISTED},
    {ON, "", "8.8.8.8.8.in-addr.arpa", LISTED},
    {ON, "", "printer.home.arpa", LISTED},
    {ON, "printer.home.arpa", "printer.home.arpa", YES},
    {ON, "", "1.1.1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.4.6.0.6.2.ip6.arpa", YES},
    {ON, "", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", HOST},
    {ON, "", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.c.f.ip6.arpa", PRIVATE},
    {ON, "", "5.0.0.0.0.0.a.0.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", PRIVATE},
    {ON, "", "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.c.f.ip6.arpa", LISTED},
    {ALLOW, "8.8.8.8", "8.8.8.8.in-addr.arpa", LISTED},
};

static void decides_on_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(name_cases); i++) {
        const struct name_case *row = &name_cases[i];
        OWNED(policy_release) struct policy policy = POLICY_OFF;
        policy.mode = row->mode;
        read_rules(&policy, row->rules);
        struct policy_verdict verdict = policy_judge_name(&policy, row->name);
        if (verdict.refusal != row->expected)
            fail_msg("%s: %s is %s", row->rules, row->name, refusal_name(verdict.refusal));
    }
}

struct address_case {
    const char *address;
    enum refusal as_address; /* in mode on, without rules */
};

/* By name in mode allow the same, but for what mode on alone admits. */
static const struct address_case address_cases[] = {
    {"1.1.1.1", YES},
    {"8.8.8.8", YES},
    {"93.184.216.34", YES},
    {"9.255.255.255", YES},
    {"11.0.0.0", YES},
    {"100.63.255.255", YES},
    {"100.128.0.0", YES},
    {"126.255.255.255", YES},
    {"128.0.0.0", YES},
    {"169.253.255.255", YES},
    {"169.255.0.0", YES},
    {"172.15.255.255", YES},
    {"172.32.0.0", YES},
    {"191.255.255.255", YES},
    {"192.0.1.0", YES},
    {"192.0.3.0", YES},
    {"192.88.98.255", YES},
    {"192.167.255.255", YES},
    {"192.169.0.0", YES},
    {"198.17.255.255", YES},
    {"198.20.0.0", YES},
    {"198.51.99.255", YES},
    {"203.0.112.255", YES},
    {"203.0.114.0", YES},
    {"223.255.255.255", YES},
    {"0.0.0.0", HOST},
    {"0.255.255.255", HOST},
    {"127.0.0.1", HOST},
    {"127.255.255.254", HOST},
    {"10.0.0.0", PRIVATE},
    {"10.255.255.255", PRIVATE},
    {"100.64.0.0", PRIVATE},
    {"100.127.255.255", PRIVATE},
    {"169.254.0.1", PRIVATE},
    {"172.16.0.0", PRIVATE},
    {"172.31.255.255", PRIVATE},
    {"192.0.0.1", PRIVATE},
    {"192.0.2.9", PRIVATE},
    {"192.88.99.1", PRIVATE},
    {"192.168.0.1", PRIVATE},
    {"198.18.0.1", PRIVATE},
    {"198.19.255.255", PRIVATE},
    {"198.51.100.1", PRIVATE},
    {"203.0.113.1", PRIVATE},
    {"224.0.0.251", PRIVATE},
    {"239.255.255.255", PRIVATE},
    {"240.0.0.1", PRIVATE},
    {"255.255.255.255", PRIVATE},
    {"169.254.169.254", META},
    {"169.254.170.2", META},
    {"100.100.100.200", META},
    {"168.63.129.16", META},
    {"192.0.0.192", META},
    {"::", HOST},
    {"::1", HOST},
    {"::2", PRIVATE},
    {"::127.0.0.1", PRIVATE},
    {"::ffff:127.0.0.1", HOST},
    {"::ffff:10.0.0.1", PRIVATE},
    {"::ffff:8.8.8.8", YES},
    {"::ffff:169.254.169.254", META},
    {"64:ff9b::a9fe:a9fe", META},
    {"64:ff9b::808:808", YES},
    {"64:ff9b::7f00:1", HOST},
    {"64:ff9b:1::1", PRIVATE},
    {"2002:7f00:1::", HOST},
    {"2002:a00:1::1", PRIVATE},
    {"2002:808:808::1", YES},
    {"2001:0:1::1", PRIVATE},
    {"2001:1ff::1", PRIVATE},
    {"2001:200::1", YES},
    {"2001:db8::1", PRIVATE},
    {"2606:4700::1111", YES},
    {"3fff:fff::1", PRIVATE},
    {"3fff:1000::1", YES},
    {"4000::1", PRIVATE},
    {"fc00::1", PRIVATE},
    {"fd00:ec2::254", META},
    {"fe80::1", PRIVATE},
    {"ff02::1", PRIVATE},
};

static void knows_which_addresses_are_public(void **state)
{
    (void)state;
    OWNED(policy_release) struct policy on = POLICY_OFF;
    OWNED(policy_release) struct policy allow = POLICY_OFF;
    OWNED(policy_release) struct policy all = POLICY_OFF;
    on.mode = NETWORK_ON;
    allow.mode = NETWORK_ALLOW;
    all.mode = NETWORK_ALLOW;
    read_rules(&all, "0.0.0.0/0:* [::/0]:*");
    for (size_t i = 0; i < ARRAY_LENGTH(address_cases); i++) {
        const struct address_case *row = &address_cases[i];
        struct address address;
        assert_true(address_parse(row->address, &address));
        enum refusal as_address = policy_judge_address(&on, false, &address, 443).refusal;
        enum refusal by_name = policy_judge_address(&allow, true, &address, 443).refusal;
        enum refusal unlisted = policy_judge_address(&allow, false, &address, 443).refusal;
        enum refusal listed = policy_judge_address(&all, true, &address, 443).refusal;
        if (as_address != row->as_address || by_name != row->as_address || listed != YES ||
            unlisted != (row->as_address == YES ? LISTED : row->as_address))
            fail_msg("%s: %s, %s, %s, %s", row->address, refusal_name(as_address),
                     refusal_name(by_name), refusal_name(unlisted), refusal_name(listed));
    }
}

struct range_case {
    enum network_mode mode;
    const char *rules;
    const char *address;
    uint16_t port;
    enum refusal expected;
};

static const struct range_case range_cases[] = {
    {ALLOW, "10.0.0.0/8", "10.1.2.3", 443, YES},
    {ALLOW, "10.0.0.0/8", "10.1.2.3", 22, PRIVATE},
    {ALLOW, "10.0.0.0/8:22", "10.1.2.3", 22, YES},
    {ALLOW, "10.0.0.0/8:*", "11.1.2.3", 22, LISTED},
    {ALLOW, "10.0.0.0/8:*", "9.255.255.255", 22, LISTED},
    {ALLOW, "192.0.2.7", "192.0.2.7", 80, YES},
    {ALLOW, "192.0.2.7", "192.0.2.6", 80, PRIVATE},
    {ALLOW, "192.0.2.4/30", "192.0.2.7", 80, YES},
    {ALLOW, "192.0.2.4/30", "192.0.2.8", 80, PRIVATE},
    {ALLOW, "[2001:db8::/32]:443", "2001:db8:ffff::1", 443, YES},
    {ALLOW, "[2001:db8::/32]:443", "2001:db9::1", 443, LISTED},
    {ALLOW, "[2001:db8::1]", "2001:db8::1", 80, YES},
    {ALLOW, "[::/0]:*", "2606:4700::1", 443, YES},
    {ALLOW, "[::/0]:*", "10.1.2.3", 443, PRIVATE},
    {ALLOW, "[::/16]:*", "8.8.8.8", 443, LISTED},
    {ALLOW, "0.0.0.0/0:*", "2606:4700::1", 443, LISTED},
    {ON, "-[::/0]", "8.8.8.8", 443, YES},
    {ON, "-[::/0]", "2606:4700::1", 443, DENIED},
    {ALLOW, "8.8.8.8:853", "8.8.8.8", 853, YES},
    {ALLOW, "8.8.8.8:853", "8.8.8.8", 443, LISTED},
    {ALLOW, "10.0.0.0/8 -10.0.0.1", "10.0.0.1", 443, DENIED},
    {ON, "-8.8.8.0/24", "8.8.8.8", 443, DENIED},
    {ON, "-8.8.8.0/24:443", "8.8.8.8", 80, YES},
    {ON, "-8.8.8.0/24", "64:ff9b::808:808", 443, DENIED},
    {ON, "-8.8.8.0/24", "2002:808:808::1", 443, DENIED},
    {ON, "-8.8.8.0/24:443", "64:ff9b::808:808", 80, YES},
    {ON, "-8.8.9.0/24", "64:ff9b::808:808", 443, YES},
    {ON, "8.8.8.8:25", "64:ff9b::808:808", 25, LISTED},
    {ON, "", "8.8.8.8", 25, LISTED},
    {ON, "8.8.8.8:25", "8.8.8.8", 25, YES},
    {ON, "10.0.0.0/8", "10.0.0.1", 443, YES},
};

static void decides_on_ranges_of_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(range_cases); i++) {
        const struct range_case *row = &range_cases[i];
        OWNED(policy_release) struct policy policy = POLICY_OFF;
        struct address address;
        policy.mode = row->mode;
        read_rules(&policy, row->rules);
        assert_true(address_parse(row->address, &address));
        struct policy_verdict verdict = policy_judge_address(&policy, false, &address, row->port);
        if (verdict.refusal != row->expected)
            fail_msg("%s: %s:%u is %s", row->rules, row->address, row->port,
                     refusal_name(verdict.refusal));
        assert_int_equal(verdict.by_address,
                         row->expected == YES && row->rules[0] != '\0' && row->rules[0] != '-');
    }
}

static void names_the_rule(void **state)
{
    (void)state;
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    policy.mode = NETWORK_ALLOW;
    read_rules(&policy, "a.example.org *.example.org:* -x.example.org @db.internal:1=10.0.0.1:2");
    assert_string_equal(policy_judge_host(&policy, "a.example.org", 80).rule, "a.example.org");
    assert_string_equal(policy_judge_host(&policy, "a.example.org", 81).rule, "*.example.org:*");
    assert_string_equal(policy_judge_host(&policy, "x.example.org", 80).rule, "x.example.org");
    assert_null(policy_judge_host(&policy, "example.com", 80).rule);
    const struct policy_rule *map = policy_find_map(&policy, "db.internal", 1);
    assert_int_equal(map->to_port, 2);
    assert_true(policy_has_map(&policy, "db.internal"));
    assert_false(policy_has_map(&policy, "a.example.org"));
}

static void refuses_wrong_rules(void **state)
{
    (void)state;
    static const struct {
        enum rule_list list;
        const char *rule, *message;
    } cases[] = {
        {RULES_ALLOW, "*", "--network on"},
        {RULES_ALLOW, "*:443", "--network on"},
        {RULES_ALLOW, "*.com", "top-level"},
        {RULES_ALLOW, "a*.b.org", "whole first label"},
        {RULES_ALLOW, "a.*.org", "whole first label"},
        {RULES_ALLOW, "*.*.org", "whole first label"},
        {RULES_ALLOW, "https://a.org", "without a scheme"},
        {RULES_ALLOW, "a.org/path", "without a path"},
        {RULES_ALLOW, "b\xc3\xbc.org", "xn--"},
        {RULES_ALLOW, "a..org", "labels"},
        {RULES_ALLOW, ".a.org", "labels"},
        {RULES_ALLOW, "a.org..", "labels"},
        {RULES_ALLOW, "a b.org", "white space"},
        {RULES_ALLOW, "a%00.org", "labels"},
        {RULES_ALLOW, "", "empty"},
        {RULES_ALLOW, ":443", "empty"},
        {RULES_ALLOW, "a.org:", "no port"},
        {RULES_ALLOW, "a.org:0", "no port"},
        {RULES_ALLOW, "a.org:65536", "no port"},
        {RULES_ALLOW, "a.org:+80", "no port"},
        {RULES_ALLOW, "a.org:080", "no port"},
        {RULES_ALLOW, "a.org:http", "no port"},
        {RULES_ALLOW, "2001:db8::1", "brackets"},
        {RULES_ALLOW, "[2001:db8::1", "brackets"},
        {RULES_ALLOW, "[2001:db8::1]443", "brackets"},
        {RULES_ALLOW, "10.0.0.1/8", "10.0.0.0/8"},
        {RULES_ALLOW, "[2001:db8::1/32]", "2001:db8::/32"},
        {RULES_ALLOW, "10.0.0.0/33", "0 to 32"},
        {RULES_ALLOW, "10.0.0.0/", "0 to 32"},
        {RULES_ALLOW, "[::/129]", "0 to 128"},
        {RULES_ALLOW, "127.1", "four decimal numbers"},
        {RULES_ALLOW, "2130706433", "four decimal numbers"},
        {RULES_ALLOW, "0x7f000001", "four decimal numbers"},
        {RULES_ALLOW, "10.0.0.256", "four decimal numbers"},
        {RULES_ALLOW, "localhost", "--map-host"},
        {RULES_ALLOW, "a.localhost:80", "--map-host"},
        {RULES_DENY, "*", "--network off"},
        {RULES_MAP, "a.internal", "NAME:PORT=ADDRESS:PORT"},
        {RULES_MAP, "a.internal=127.0.0.1:80", "NAME:PORT=ADDRESS:PORT"},
        {RULES_MAP, "a.internal:80=127.0.0.1", "NAME:PORT=ADDRESS:PORT"},
        {RULES_MAP, "a.internal:80=b.internal:80", "NAME:PORT=ADDRESS:PORT"},
        {RULES_MAP, "*.internal:80=127.0.0.1:80", "NAME:PORT=ADDRESS:PORT"},
        {RULES_MAP, "a.internal:*=127.0.0.1:80", "NAME:PORT=ADDRESS:PORT"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(policy_release) struct policy policy = POLICY_OFF;
        struct fault fault = {0};
        int r = policy_add(&policy, cases[i].list, cases[i].rule, &fault);
        if (r != -EINVAL || strstr(fault.text, cases[i].message) == NULL)
            fail_msg("\"%s\": %d, %s", cases[i].rule, r, fault.text);
    }
}

static void is_the_same_as_text(void **state)
{
    (void)state;
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    OWNED(policy_release) struct policy again = POLICY_OFF;
    OWNED(buffer_release) struct buffer text = BUFFER(POLICY_TEXT_MAX);
    policy.mode = NETWORK_ON;
    policy.byte_limit = 12345;
    read_rules(&policy, "a.org:5 -*.b.org @c.internal:1=[::1]:2 10.0.0.0/8");
    assert_int_equal(policy_write(&policy, &text), 0);
    assert_int_equal(policy_read(text.data, text.length, &again), 0);
    assert_int_equal(again.mode, NETWORK_ON);
    assert_int_equal(again.byte_limit, 12345);
    assert_int_equal(again.rules[RULES_ALLOW].count, 2);
    assert_string_equal(again.rules[RULES_MAP].list[0].text, "c.internal:1=[::1]:2");
    assert_int_equal(policy_read("mode 7\n", 7, &again), -EINVAL);
    assert_int_equal(policy_read("nothing\n", 8, &again), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides_on_hosts),
        cmocka_unit_test(decides_on_names),
        cmocka_unit_test(knows_which_addresses_are_public),
        cmocka_unit_test(decides_on_ranges_of_addresses),
        cmocka_unit_test(names_the_rule),
        cmocka_unit_test(refuses_wrong_rules),
        cmocka_unit_test(is_the_same_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
