#include "mcp/http/http_guard.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdef"

struct request {
    const char *host, *origin, *authorization;
    unsigned status;
};

static void assert_statuses(const struct http_guard *guard, const struct request *requests,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct http_credentials given = {requests[i].host, requests[i].origin,
                                               requests[i].authorization};
        const char *why = NULL;
        unsigned owner = 0;
        unsigned status = http_guard_check(guard, &given, &owner, &why);
        if (status != requests[i].status || (status != 0) != (why != NULL))
            fail_msg("request %zu: %u, %s", i, status, why != NULL ? why : "no reason");
    }
}

static void loopback_knows_its_names_and_no_others(void **state)
{
    (void)state;
    const struct http_guard guard = {.address = "127.0.0.1", .port = 8080, .is_loopback = true};
    static const struct request requests[] = {
        {"127.0.0.1:8080", NULL, NULL, 0},
        {"LocalHost:8080", NULL, NULL, 0},
        {"[::1]:8080", NULL, NULL, 0},
        {"127.0.0.1", NULL, NULL, 403},
        {"127.0.0.1:80800", NULL, NULL, 400},
        {"127.0.0.1:", NULL, NULL, 400},
        {"[::1:8080", NULL, NULL, 400},
        {"", NULL, NULL, 400},
        {":8080", NULL, NULL, 400},
        {NULL, NULL, NULL, 400},
        {"evil.example:8080", NULL, NULL, 403},
        {"localhost.evil.example:8080", NULL, NULL, 403},
        {"localhost:8080", "http://localhost:8080", NULL, 0},
        {"localhost:8080", "http://127.0.0.1:8080", NULL, 0},
        {"localhost:8080", "http://localhost:8081", NULL, 403},
        {"localhost:8080", "null", NULL, 403},
        {"localhost:8080", "", NULL, 403},
        {"localhost:8080", "http://", NULL, 403},
        {"localhost:8080", "http://localhost:8080/x", NULL, 403},
        {"localhost:8080", "https://evil.example", NULL, 403},
    };
    assert_statuses(&guard, requests, ARRAY_LENGTH(requests));
}

static void a_port_of_80_may_be_left_out(void **state)
{
    (void)state;
    const struct http_guard guard = {.address = "127.0.0.1", .port = 80, .is_loopback = true};
    static const struct request requests[] = {{"localhost", NULL, NULL, 0},
                                              {"localhost:80", "http://localhost", NULL, 0},
                                              {"localhost:81", NULL, NULL, 403}};
    assert_statuses(&guard, requests, ARRAY_LENGTH(requests));
}

static void named_hosts_have_any_port(void **state)
{
    (void)state;
    const struct http_guard guard = {
        .address = "10.0.0.1", .port = 8080, .names = "a.example, b.example"};
    static const struct request requests[] = {
        {"a.example", "https://a.example", NULL, 0},
        {"B.example:8443", NULL, NULL, 0},
        {"10.0.0.1:8080", NULL, NULL, 0},
        {"10.0.0.1:8081", NULL, NULL, 403},
        {"localhost:8080", NULL, NULL, 403},
        {"a.example.evil", NULL, NULL, 403},
        {"a.exampl", NULL, NULL, 403},
        {"a.example", "https://c.example", NULL, 403},
    };
    assert_statuses(&guard, requests, ARRAY_LENGTH(requests));
}

static void beyond_loopback_pages_come_from_the_host_they_ask(void **state)
{
    (void)state;
    const struct http_guard guard = {.address = "0.0.0.0", .port = 8080};
    static const struct request requests[] = {
        {"any.example:8080", NULL, NULL, 0},
        {"any.example:8080", "http://any.example:8080", NULL, 0},
        {"any.example:8080", "http://any.example", NULL, 403},
        {"any.example:8080", "http://evil.example:8080", NULL, 403},
    };
    assert_statuses(&guard, requests, ARRAY_LENGTH(requests));
}

static void a_token_must_be_right_to_the_last_letter(void **state)
{
    (void)state;
    OWNED(http_guard_release)
    struct http_guard guard = {
        .address = "127.0.0.1",
        .port = 80,
        .is_loopback = true,
        .tokens = {.list = {{"one", "another of sixteen"}, {"two", TOKEN}}, .count = 2},
    };
    const struct http_credentials given = {"localhost", NULL, "Bearer " TOKEN};
    const char *why = NULL;
    unsigned owner = 7;
    assert_int_equal(http_guard_check(&guard, &given, &owner, &why), 0);
    assert_int_equal(owner, 1);
    static const struct request requests[] = {
        {"localhost", NULL, "Bearer " TOKEN, 0},
        {"localhost", NULL, "bearer   " TOKEN, 0},
        {"localhost", NULL, NULL, 401},
        {"localhost", NULL, "Bearer ", 401},
        {"localhost", NULL, "Bearer 0123456789abcdeF", 401},
        {"localhost", NULL, "Bearer 0123456789abcde", 401},
        {"localhost", NULL, "Bearer " TOKEN TOKEN, 401},
        {"localhost", NULL, "Bearer " TOKEN " ", 401},
        {"localhost", NULL, "Basic " TOKEN, 401},
        {"evil.example", NULL, "Bearer " TOKEN, 403},
    };
    assert_statuses(&guard, requests, ARRAY_LENGTH(requests));
}

static void addresses_are_numbers_with_a_port(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
        bool is_loopback;
    } right[] = {
        {"8080", "127.0.0.1", true},        {"127.0.0.2:1", "127.0.0.2", true},
        {"localhost:1", "127.0.0.1", true}, {"[::1]:65535", "[::1]", true},
        {"0.0.0.0:0", "0.0.0.0", false},    {"[fe80::1]:1", "[fe80::1]", false},
        {"[::]:1", "[::]", false},          {"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(right); i++) {
        struct http_address address;
        char shown[HTTP_ADDRESS_TEXT_SIZE];
        assert_int_equal(http_address_read(right[i].text, &address, NULL), 0);
        http_address_show(&address, shown);
        assert_string_equal(shown, right[i].shown);
        assert_int_equal(address.is_loopback, right[i].is_loopback);
    }
    static const char *const wrong[] = {
        "",      ":",       "-1",          "65536",       "80x", "x:80", "::1:80", "[]:80",
        "[::1]", "1.2.3:4", "1.2.3.4.5:6", "[1.2.3.4]:5", " 80", "80 ",  "000080"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        struct http_address address;
        struct fault fault = {0};
        assert_int_equal(http_address_read(wrong[i], &address, &fault), -EINVAL);
        assert_non_null(strstr(fault.text, "--http must be"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_knows_its_names_and_no_others),
        cmocka_unit_test(a_port_of_80_may_be_left_out),
        cmocka_unit_test(named_hosts_have_any_port),
        cmocka_unit_test(beyond_loopback_pages_come_from_the_host_they_ask),
        cmocka_unit_test(a_token_must_be_right_to_the_last_letter),
        cmocka_unit_test(addresses_are_numbers_with_a_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
