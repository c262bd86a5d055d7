#include "images/registry/auth_file.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* "me:secret", "a:1", "b:2:3" */
#define ME "{\"auth\":\"bWU6c2VjcmV0\"}"
#define A "{\"auth\":\"YTox\"}"
#define B "{\"auth\":\"YjoyOjM=\"}"

static struct auth auth_of(const char *json, const char *text)
{
    struct reference reference;
    struct auth auth = {.kind = AUTH_NONE};
    assert_int_equal(reference_parse(text, &reference, NULL), 0);
    if (auth_file_read(json, strlen(json), &reference, &auth) != 0)
        fail_msg("%s", json);
    return auth;
}

static void nearest_key_counts(void **state)
{
    (void)state;
    static const char json[] =
        "{\"auths\":{\"h.x\":" ME ",\"h.x/a/b\":" B ",\"h.x/a\":" A
        ",\"https://index.docker.io/v1/\":" A ",\"http://old.x/v2/\":" B ",\"other.x/a\":" ME "}}";
    static const struct {
        const char *reference, *user, *password;
    } cases[] = {
        {"h.x/c", "me", "secret"},  {"h.x/a/c", "a", "1"},   {"h.x/a", "a", "1"},
        {"h.x/ab", "me", "secret"}, {"h.x/a/b", "b", "2:3"}, {"h.x/a/b/c:1", "b", "2:3"},
        {"python", "a", "1"},       {"old.x/y", "b", "2:3"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(auth_file_release) struct auth auth = auth_of(json, cases[i].reference);
        assert_int_equal(auth.kind, AUTH_LOGIN);
        assert_string_equal(auth.credentials.user, cases[i].user);
        assert_string_equal(auth.credentials.password, cases[i].password);
    }
    static const char *const strangers[] = {"x.x/a", "h.x:5000/a", "other.x/b", "ah.x/a"};
    for (size_t i = 0; i < ARRAY_LENGTH(strangers); i++) {
        OWNED(auth_file_release) struct auth auth = auth_of(json, strangers[i]);
        assert_int_equal(auth.kind, AUTH_NONE);
    }
}

static void helpers_come_before_and_a_store_after(void **state)
{
    (void)state;
    static const char json[] = "{\"credHelpers\":{\"h.x\":\"one\"},\"credsStore\":\"two\","
                               "\"auths\":{\"h.x\":" ME ",\"i.x\":" ME ",\"j.x\":{}}}";
    OWNED(auth_file_release) struct auth helped = auth_of(json, "h.x/a");
    assert_int_equal(helped.kind, AUTH_HELPER);
    assert_string_equal(helped.helper, "one");
    OWNED(auth_file_release) struct auth kept = auth_of(json, "i.x/a");
    assert_int_equal(kept.kind, AUTH_LOGIN);
    OWNED(auth_file_release) struct auth stored = auth_of(json, "j.x/a");
    assert_int_equal(stored.kind, AUTH_HELPER);
    assert_string_equal(stored.helper, "two");
}

static void what_is_malformed_is_passed_over(void **state)
{
    (void)state;
    static const char *const files[] = {
        "{}",
        "{\"auths\":7}",
        "{\"auths\":{\"h.x\":7}}",
        "{\"auths\":{\"h.x\":{\"auth\":\"\"}}}",
        "{\"auths\":{\"h.x\":{\"auth\":\"bWU\"}}}",
        "{\"auths\":{\"h.x\":{\"auth\":\"!!!!\"}}}",
        "{\"auths\":{\"h.x\":{\"auth\":\"OnNlY3JldA==\"}}}",
        "{\"credsStore\":\"../x\"}",
        "{\"credsStore\":\"a b\"}",
        "{\"credHelpers\":{\"h.x\":\"a;b\"}}",
        "{\"credHelpers\":[\"h.x\"]}",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        OWNED(auth_file_release) struct auth auth = auth_of(files[i], "h.x/a");
        if (auth.kind != AUTH_NONE)
            fail_msg("%s", files[i]);
    }
    struct reference reference;
    struct auth auth;
    assert_int_equal(reference_parse("a", &reference, NULL), 0);
    assert_int_equal(auth_file_read("", 0, &reference, &auth), -22);
    assert_int_equal(auth_file_read("[]", 2, &reference, &auth), -22);
}

static void other_forms_of_a_login_are_read(void **state)
{
    (void)state;
    OWNED(auth_file_release)
    struct auth plain =
        auth_of("{\"auths\":{\"h.x\":{\"username\":\"u\",\"password\":\"p\"}}}", "h.x/a");
    assert_string_equal(plain.credentials.password, "p");
    OWNED(auth_file_release)
    struct auth token =
        auth_of("{\"auths\":{\"h.x\":{\"auth\":\"bWU6\",\"identitytoken\":\"t\"}}}", "h.x/a");
    assert_string_equal(token.credentials.identity_token, "t");
}

static void helpers_answer_with_a_login_or_a_token(void **state)
{
    (void)state;
    OWNED(auth_file_release_credentials) struct credentials login = {0}, token = {0};
    static const char one[] = "{\"ServerURL\":\"h\",\"Username\":\"u\",\"Secret\":\"s\"}\n";
    static const char other[] = "{\"Username\":\"<token>\",\"Secret\":\"s\"}";
    assert_int_equal(auth_file_read_helper(one, strlen(one), &login), 0);
    assert_string_equal(login.user, "u");
    assert_string_equal(login.password, "s");
    assert_int_equal(auth_file_read_helper(other, strlen(other), &token), 0);
    assert_string_equal(token.identity_token, "s");
    assert_null(token.user);
    assert_int_equal(auth_file_read_helper("{\"Username\":\"u\"}", 16, &login), -22);
    assert_int_equal(auth_file_read_helper("credentials not found", 21, &login), -22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_key_counts),
        cmocka_unit_test(helpers_come_before_and_a_store_after),
        cmocka_unit_test(what_is_malformed_is_passed_over),
        cmocka_unit_test(other_forms_of_a_login_are_read),
        cmocka_unit_test(helpers_answer_with_a_login_or_a_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
