#include "sandbox/network/broker/broker_limits.h"
#include "tests/unit/gate-check.h"
#include "tests/unit/hello.h"

static const struct head_case head_cases[] = {
    {"GET / HTTP/1.1\r\n" HOST "\r\n", PASSES},
    {"GET / HTTP/1.0\r\n" HOST "\r\n", PASSES},
    {"GET / HTTP/1.1\r\nhOsT:\t GOOD.example. \t\r\n\r\n", PASSES},
    {"GET / HTTP/1.1\r\nHost:good.example\r\nX:\r\nY: \xc3\xa4\r\n\r\n", PASSES},
    {"POST /\xc3\xa4?q=a:b@c HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\nbody\n\r", PASSES},
    {"M-SEARCH /x HTTP/1.1\r\n" HOST "\r\n", PASSES},
    {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", PASSES},
    {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", EVIL},
    {"GET / HTTP/1.1\r\nHost: x.wild.example\r\n\r\n", PASSES},
    {"GET / HTTP/1.1\r\nHost: wild.example\r\n\r\n", OTHER("wild.example")},
    {"GET / HTTP/1.1\r\nHost: good.example:443\r\n\r\n", PASSES},
    {"GET / HTTP/1.1\r\nHost: good.example:8080\r\n\r\n", OTHER("good.example")},
    {"GET / HTTP/1.1\r\nHost: 10.0.0.5\r\n\r\n", OTHER("10.0.0.5")},
    {"M-SEARCH * HTTP/1.1\r\nHost: evil.example\r\n\r\n", UNKNOWN},
    {"M-SEARCH / HTTP/1.1\r\nHost: evil.example\r\n\r\n", EVIL},
    /* No host, or none that is sure */
    {"GET / HTTP/1.1\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.0\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\n" HOST "Host: evil.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost:\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example:80@evil.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example@evil.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example, evil.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example evil.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example/evil\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example:\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example:0\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example:65616\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example:80:80\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", UNKNOWN},
    /* Lines that servers read otherwise */
    {"\r\nGET / HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"\nGET / HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {" GET / HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nX: \rHost: evil.example\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nX: y\r\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nX: y\r\n Host: evil.example\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost: good.example\r\n .evil.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost:\r\n evil.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\n " HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nHost : good.example\r\n\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\n: x\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nX\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1\r\nX: \x01\r\n" HOST "\r\n", UNKNOWN},
    {"GET  / HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET /\tx HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.1 \r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.2\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/2.0\r\n" HOST "\r\n", UNKNOWN},
    {"GET / HTTP/1.10\r\n" HOST "\r\n", UNKNOWN},
    {"GET / http/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET /\r\n", UNKNOWN},
    {"GET / RTSP/1.0\r\n" HOST "\r\n", UNKNOWN},
    {"GET evil.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET http:/evil.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET http://good.example@evil.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET http://good.example\\@evil.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET http://good.example#@evil.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET http://good.example?@evil.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET http://evil.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET http://good.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", UNKNOWN},
    {"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", EVIL},
    {"GET https://good.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"GET ftp://good.example/ HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    /* Tunnels */
    {"CONNECT evil.example:443 HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    {"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", EVIL},
    {"CONNECT good.example:22 HTTP/1.1\r\n\r\n", OTHER("good.example")},
    {"CONNECT good.example HTTP/1.1\r\n\r\n", UNKNOWN},
    {"CONNECT /evil HTTP/1.1\r\n" HOST "\r\n", UNKNOWN},
    /* Other protocols */
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", UNKNOWN},
    {"SSH-2.0-x\r\n", UNKNOWN},
    {"hello\n", UNKNOWN},
    {"EHLO evil.example\r\n", UNKNOWN},
    {"\x80\x2e\x01\x03\x01", UNKNOWN},
    {"\x01", UNKNOWN},
    {"\x15\x03\x01", UNKNOWN},
    {"\x14\x03\x01", UNKNOWN},
    {"\x17\x03\x01", UNKNOWN},
    /* The beginning of a head */
    {"G", WAITS},
    {"GET / HTT", WAITS},
    {"GET / HTTP/1.1\r\n" HOST, WAITS},
    {"GET / HTTP/1.1\r\n" HOST "\r", WAITS},
};

static void head_passes_only_if_every_server_reads_it_alike(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(head_cases); i++) {
        const struct head_case *row = &head_cases[i];
        check_ways(&fixture->policy, "good.example", (const uint8_t *)row->text, strlen(row->text),
                   &row->expected);
    }
}

static void absolute_target_is_of_port_80(void **state)
{
    struct fixture *fixture = *state;
    static const struct head_case cases[] = {
        {"GET http://good.example/ HTTP/1.1\r\n" HOST "\r\n", PASSES},
        {"GET HTTP://good.example:80 HTTP/1.1\r\n" HOST "\r\n", PASSES},
        {"GET http://good.example/ HTTP/1.1\r\n\r\n", PASSES},
        {"GET http://good.example:80/ HTTP/1.1\r\nHost: good.example:81\r\n\r\n", UNKNOWN},
        {"GET http://good.example:81/ HTTP/1.1\r\n\r\n", OTHER("good.example")},
        {"GET http://other.example/ HTTP/1.1\r\n\r\n", OTHER("other.example")},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check_ways(&fixture->policy, "good.example", (const uint8_t *)cases[i].text,
                   strlen(cases[i].text), &cases[i].expected);
}

static void head_beyond_the_bound_is_refused(void **state)
{
    struct fixture *fixture = *state;
    static uint8_t bytes[MESSAGE_MAX];
    static const char begin[] = "GET / HTTP/1.1\r\n" HOST "X: ";
    const size_t sizes[] = {FIRST_BYTES_SIZE - 1, FIRST_BYTES_SIZE + 1};
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        memset(bytes, 'x', sizes[i]);
        memcpy(bytes, begin, strlen(begin));
        memcpy(bytes + sizes[i] - 4, "\r\n\r\n", 4);
        struct outcome whole =
            outcome_of(&fixture->policy, "good.example", 80, bytes, sizes[i], sizes[i], sizes[i]);
        struct outcome slow =
            outcome_of(&fixture->policy, "good.example", 80, bytes, sizes[i], 1, 1);
        assert_int_equal(whole.verdict, i == 0 ? GATE_PASSES : GATE_REFUSES);
        assert_int_equal(slow.verdict, whole.verdict);
    }
}

struct hello_case {
    struct hello hello;
    struct outcome expected;
};

static const struct hello_case hello_cases[] = {
    {{0}, PASSES},
    {{.name = "GOOD.EXAMPLE"}, PASSES},
    {{.version = 0x0301}, PASSES},
    {{.record_version = 0x0300}, PASSES}, /* GnuTLS */
    {{.record_version = 0x0303}, PASSES},
    {{.record = 1}, PASSES},
    {{.record = 5}, PASSES},
    {{.padding = 1800}, PASSES}, /* the size of one with keys for a quantum computer */
    {{.padding = 1800, .record = 100}, PASSES},
    {{.padding = 16000}, PASSES},
    {{.padding = 20000, .record = 16384}, PASSES},
    {{.extension = 43}, PASSES},
    {{.extension = 0x6a6a}, PASSES},
    {{.name = "x.wild.example"}, PASSES},
    {{.name = "evil.example"}, EVIL},
    {{.name = "evil.example", .record = 1}, EVIL},
    {{.name = "evil.example", .padding = 6000}, EVIL},
    {{.is_nameless = true}, UNKNOWN},
    {{.name = ""}, UNKNOWN},
    {{.name = "good.example/"}, UNKNOWN},
    {{.is_twice = true}, UNKNOWN},
    {{.extension = 0xfe0d}, UNKNOWN}, /* encrypted_client_hello */
    {{.extension = 0xffce}, UNKNOWN}, /* encrypted_server_name of drafts */
    {{.extension = 0x6a7a}, UNKNOWN},
    {{.extension = 0x1234}, UNKNOWN},
    {{.record_version = 0x0200}, UNKNOWN},
    {{.record_version = 0x0009}, UNKNOWN},
    {{.record_version = 0x0304}, UNKNOWN},
    {{.version = 0x0203}, UNKNOWN},
    {{.version = 0x0304}, UNKNOWN},
    {{.type = 2}, UNKNOWN},
    {{.type = 16}, UNKNOWN},
    {{.behind = 1}, UNKNOWN},
    {{.padding = 40000, .record = 16384}, UNKNOWN},
};

static void hello_passes_only_if_whole_and_known(void **state)
{
    struct fixture *fixture = *state;
    static uint8_t bytes[MESSAGE_MAX];
    for (size_t i = 0; i < ARRAY_LENGTH(hello_cases); i++) {
        size_t length = put_hello(bytes, &hello_cases[i].hello);
        check_ways(&fixture->policy, "good.example", bytes, length, &hello_cases[i].expected);
    }
}

static void part_of_a_hello_waits(void **state)
{
    struct fixture *fixture = *state;
    static uint8_t bytes[MESSAGE_MAX];
    size_t length = put_hello(bytes, &(struct hello){.padding = 1800});
    for (size_t i = 1; i < length; i++)
        assert_int_equal(outcome_of(&fixture->policy, "good.example", 443, bytes, i, i, 1).verdict,
                         GATE_WAITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_passes_only_if_every_server_reads_it_alike),
        cmocka_unit_test(absolute_target_is_of_port_80),
        cmocka_unit_test(head_beyond_the_bound_is_refused),
        cmocka_unit_test(hello_passes_only_if_whole_and_known),
        cmocka_unit_test(part_of_a_hello_waits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
