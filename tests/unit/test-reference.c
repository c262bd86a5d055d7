#include "images/base/reference.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_get_their_long_form(void **state)
{
    (void)state;
    static const struct {
        const char *text, *whole;
    } cases[] = {
        {"python", "docker.io/library/python:latest"},
        {"python:3.13-slim", "docker.io/library/python:3.13-slim"},
        {"library/python", "docker.io/library/python:latest"},
        {"someone/python", "docker.io/someone/python:latest"},
        {"docker.io/python", "docker.io/library/python:latest"},
        {"index.docker.io/python", "docker.io/library/python:latest"},
        {"quay.io/a/b/c:1", "quay.io/a/b/c:1"},
        {"localhost/a", "localhost/a:latest"},
        {"localhost:5000/a", "localhost:5000/a:latest"},
        {"HOST/a", "HOST/a:latest"},
        {"127.0.0.1:5000/a/b:T_a.g-1", "127.0.0.1:5000/a/b:T_a.g-1"},
        {"[::1]:5000/a", "[::1]:5000/a:latest"},
        {"[fe80::1]/a", "[fe80::1]/a:latest"},
        {"a@sha256:" HEX, "docker.io/library/a@sha256:" HEX},
        {"h.x/a:1@sha256:" HEX, "h.x/a:1@sha256:" HEX},
        {"a__b---c.d_e", "docker.io/library/a__b---c.d_e:latest"},
        {"localhost:5000", "docker.io/library/localhost:5000"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct reference reference;
        char whole[REFERENCE_TEXT_MAX];
        struct fault fault = {0};
        if (reference_parse(cases[i].text, &reference, &fault) != 0)
            fail_msg("%s", fault.text);
        reference_format(&reference, whole);
        assert_string_equal(whole, cases[i].whole);
    }
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "empty"},
        {"https://docker.io/python", "scheme"},
        {"docker.io/", "name must be"},
        {"/a", "name must be"},
        {"a//b", "name must be"},
        {"a/", "name must be"},
        {"Python", "name must be"},
        {"a___b", "name must be"},
        {"-a", "name must be"},
        {"a-", "name must be"},
        {"a..b", "name must be"},
        {"a b", "name must be"},
        {"a:", "tag must"},
        {"a:-x", "tag must"},
        {"a:x/y", "port"},
        {"a:x y", "tag must"},
        {"a:b:c", "tag must"},
        {"a@sha256:abc", "'@'"},
        {"a@sha256:" HEX "0", "'@'"},
        {"a@md5:" HEX, "'@'"},
        {"a@", "'@'"},
        {"h.x:0/a", "port"},
        {"h.x:65536/a", "port"},
        {"h.x:/a", "port"},
        {"h.x:80x/a", "port"},
        {"h..x/a", "host"},
        {"-h.x/a", "host"},
        {"user@h.x/a", "'@'"},
        {"[::1/a.b", "host"},
        {"[::g].x/a", "host"},
        {"[::1]x.y/a", "host"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct reference reference;
        struct fault fault = {0};
        if (reference_parse(cases[i].text, &reference, &fault) != -22)
            fail_msg("taken: %s", cases[i].text);
        if (strstr(fault.text, cases[i].words) == NULL)
            fail_msg("%s", fault.text);
    }
}

static void lengths_have_maxima(void **state)
{
    (void)state;
    struct reference reference;
    char text[1024];
    memset(text, 'a', sizeof(text));
    text[REFERENCE_REPOSITORY_MAX - strlen("library/")] = '\0';
    assert_int_equal(reference_parse(text, &reference, NULL), 0);
    text[strlen(text)] = 'a';
    text[REFERENCE_REPOSITORY_MAX - strlen("library/") + 1] = '\0';
    assert_int_equal(reference_parse(text, &reference, NULL), -22);

    memset(text, 'a', sizeof(text));
    text[1] = ':';
    text[2 + REFERENCE_TAG_MAX] = '\0';
    assert_int_equal(reference_parse(text, &reference, NULL), 0);
    text[2 + REFERENCE_TAG_MAX] = 'a';
    text[3 + REFERENCE_TAG_MAX] = '\0';
    assert_int_equal(reference_parse(text, &reference, NULL), -22);

    memset(text, 'a', sizeof(text));
    text[255] = ':';
    text[256] = '1';
    text[257] = '/';
    text[259] = '\0';
    assert_int_equal(reference_parse(text, &reference, NULL), 0);
    memcpy(text + 255, "a:1/a", 6);
    assert_int_equal(reference_parse(text, &reference, NULL), -22);
}

static void only_this_machine_is_loopback(void **state)
{
    (void)state;
    static const char *const here[] = {"localhost",   "localhost:5000", "127.0.0.1",
                                       "127.1.2.3:1", "[::1]",          "[::1]:5000"};
    static const char *const elsewhere[] = {
        "",           "docker.io", "localhost.evil.org", "127.0.0.1.evil.org", "128.0.0.1",
        "[::2]:1",    "0.0.0.0",   "10.0.0.1:5000",      "localhostx",         "127.1",
        "2130706433", "[::1"};
    for (size_t i = 0; i < ARRAY_LENGTH(here); i++)
        assert_true(reference_host_is_loopback(here[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(elsewhere); i++)
        if (reference_host_is_loopback(elsewhere[i]))
            fail_msg("%s", elsewhere[i]);
}

static void docker_io_is_served_elsewhere(void **state)
{
    (void)state;
    struct reference reference;
    assert_int_equal(reference_parse("python", &reference, NULL), 0);
    assert_string_equal(reference_server(&reference), "registry-1.docker.io");
    assert_int_equal(reference_parse("quay.io/python", &reference, NULL), 0);
    assert_string_equal(reference_server(&reference), "quay.io");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_get_their_long_form),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(lengths_have_maxima),
        cmocka_unit_test(only_this_machine_is_loopback),
        cmocka_unit_test(docker_io_is_served_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
