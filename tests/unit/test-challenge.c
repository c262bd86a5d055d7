#include "images/registry/challenge.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void challenges_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        enum challenge_scheme scheme;
        const char *realm, *service, *scope, *error;
    } cases[] = {
        {"Bearer realm=\"https://auth/token\",service=\"r\",scope=\"repository:a:pull\"",
         CHALLENGE_BEARER, "https://auth/token", "r", "repository:a:pull", ""},
        {"bearer REALM=\"x\" , Scope=\"a,b c\", error=\"invalid_token\"", CHALLENGE_BEARER, "x", "",
         "a,b c", "invalid_token"},
        {"Basic realm=\"a \\\"quoted\\\" \\\\ one\"", CHALLENGE_BASIC, "a \"quoted\" \\ one", "",
         "", ""},
        {"Basic realm=plain", CHALLENGE_BASIC, "plain", "", "", ""},
        {"Basic", CHALLENGE_BASIC, "", "", "", ""},
        {"Basic realm=\"b\", Bearer realm=\"t\",service=\"s\"", CHALLENGE_BEARER, "t", "s", "", ""},
        {"Bearer realm=\"t\", Basic realm=\"b\"", CHALLENGE_BEARER, "t", "", "", ""},
        {"Negotiate, Basic realm=\"b\"", CHALLENGE_BASIC, "b", "", "", ""},
        {"Negotiate YWJj==, Basic realm=\"b\"", CHALLENGE_BASIC, "b", "", "", ""},
        {"Digest realm=\"d\", nonce=\"n\", qop=\"auth,auth-int\"", CHALLENGE_OTHER, "d", "", "",
         ""},
        {" , ,Basic\trealm = \"b\" , ,", CHALLENGE_BASIC, "b", "", "", ""},
        {"Bearer realm=\"x\",unknown=\"Basic realm=\\\"y\\\"\"", CHALLENGE_BEARER, "x", "", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct challenge challenge;
        if (challenge_parse(cases[i].value, &challenge) != 0)
            fail_msg("refused: %s", cases[i].value);
        assert_int_equal(challenge.scheme, cases[i].scheme);
        assert_string_equal(challenge.realm, cases[i].realm);
        assert_string_equal(challenge.service, cases[i].service);
        assert_string_equal(challenge.scope, cases[i].scope);
        assert_string_equal(challenge.error, cases[i].error);
    }
}

static void malformed_ones_are_refused(void **state)
{
    (void)state;
    static const char *const values[] = {
        "",
        " , ",
        "\"Basic\"",
        "Basic realm=\"no end",
        "Basic realm=\"no end\\",
        "Basic a=b, realm=",
        "Basic realm=\"a\" service=\"b\"",
        "Basic realm=\"a\n\"",
        "Basic realm=\"a\" junk\"",
        "Basic/realm=\"a\"",
        "A, A, A, A, A, A, A, A, A",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
        struct challenge challenge;
        if (challenge_parse(values[i], &challenge) != -22)
            fail_msg("taken: %s", values[i]);
    }
}

static void texts_have_a_maximum(void **state)
{
    (void)state;
    char value[CHALLENGE_TEXT_MAX + 64] = "Bearer realm=\"";
    size_t start = strlen(value);
    struct challenge challenge;
    memset(value + start, 'a', CHALLENGE_TEXT_MAX - 1);
    value[start + CHALLENGE_TEXT_MAX - 1] = '"';
    assert_int_equal(challenge_parse(value, &challenge), 0);
    value[start + CHALLENGE_TEXT_MAX - 1] = 'a';
    value[start + CHALLENGE_TEXT_MAX] = '"';
    assert_int_equal(challenge_parse(value, &challenge), -22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenges_are_read),
        cmocka_unit_test(malformed_ones_are_refused),
        cmocka_unit_test(texts_have_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
