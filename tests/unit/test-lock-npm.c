#include "images/store/lock_npm.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TENS "AAAAAAAAAA"
#define SHA512 "sha512-" TENS TENS TENS TENS TENS TENS TENS TENS "AAAAAA=="
#define INTEGRITY "\"integrity\":\"" SHA512 "\""
#define VERSION "\"version\":\"1.0.0\""
#define GOOD "{" VERSION "," INTEGRITY "}"
#define AT(path) "{\"" path "\":" GOOD "}"
#define WITH(member) "{\"node_modules/x\":{" VERSION "," INTEGRITY "," member "}}"
#define VERSIONED(version) "{\"node_modules/x\":{\"version\":\"" version "\"," INTEGRITY "}}"
#define RESOLVED(url) "{\"node_modules/x\":{" VERSION ",\"resolved\":\"" url "\"," INTEGRITY "}}"
#define DIGEST(text) "{\"node_modules/x\":{" VERSION ",\"integrity\":\"" text "\"}}"

static int take(const char *text, struct lock *lock, struct fault *fault)
{
    OWNED(json_release) struct json *parsed = NULL;
    assert_int_equal(json_parse(text, strlen(text), &parsed, NULL), 0);
    return lock_npm_take(json_root(parsed), lock, fault);
}

static void each_bad_package_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *named;
    } cases[] = {
        /* where it goes */
        {"[]", "npm"},
        {AT(""), "\"\""},
        {AT("x"), "\"x\""},
        {AT("node_modules/"), "\"node_modules/\""},
        {AT("node_modules/.."), "node_modules/.."},
        {AT("node_modules/."), "node_modules/."},
        {AT("node_modules/.bin"), "node_modules/.bin"},
        {AT("node_modules/../../x"), "node_modules/../../x"},
        {AT("node_modules/x/../../y"), "node_modules/x/../../y"},
        {AT("/node_modules/x"), "\"/node_modules/x\""},
        {AT("../node_modules/x"), "../node_modules/x"},
        {AT("packages/x"), "packages/x"},
        {AT("node_modules/x/"), "node_modules/x/"},
        {AT("node_modules//x"), "node_modules//x"},
        {AT("node_modules/a b"), "node_modules/a b"},
        {AT("node_modules/-x"), "node_modules/-x"},
        {AT("node_modules/x\\u0000"), "node_modules/x"},
        {AT("node_modules/x\\\\y"), "node_modules/x"},
        {AT("node_modules/x@1"), "node_modules/x@1"},
        {AT("node_modules/@x"), "node_modules/@x"},
        {AT("node_modules/@/x"), "node_modules/@/x"},
        {AT("node_modules/@x/"), "node_modules/@x/"},
        {AT("node_modules/@x/y/z"), "node_modules/@x/y/z"},
        {AT("node_modules/@x/.."), "node_modules/@x/.."},
        {AT("node_modules/node_modules"), "node_modules/node_modules"},
        {AT("node_modules/x/node_modules/y"), "node_modules/x/node_modules/y"},
        {"{\"node_modules/x\":" GOOD ",\"node_modules/x/y\":" GOOD "}", "node_modules/x/y"},
        {"{\"node_modules/x\":" GOOD ",\"node_modules/x/node_modules/../y\":" GOOD "}", "../y"},
        /* its version */
        {"{\"node_modules/x\":{" INTEGRITY "}}", "node_modules/x"},
        {"{\"node_modules/x\":{\"version\":1," INTEGRITY "}}", "node_modules/x"},
        {VERSIONED(""), "version"},
        {VERSIONED("1"), "version"},
        {VERSIONED("1.2"), "version"},
        {VERSIONED("01.2.3"), "version"},
        {VERSIONED("1.2.3.4"), "version"},
        {VERSIONED("1.2.3-"), "version"},
        {VERSIONED("1.2.3-01"), "version"},
        {VERSIONED("1.2.3-a..b"), "version"},
        {VERSIONED("^1.2.3"), "version"},
        {VERSIONED("1.2.3 || git+file:///r"), "version"},
        {VERSIONED("latest"), "version"},
        {VERSIONED("*"), "version"},
        {VERSIONED("file:../x"), "version"},
        {VERSIONED("git+file:///r"), "version"},
        {VERSIONED("npm:y@1.0.0"), "version"},
        {VERSIONED("1.0.0\\u0000"), "version"},
        /* where it comes from */
        {RESOLVED("git+file:///r"), "resolved"},
        {RESOLVED("git+ssh://git@x/r.git"), "resolved"},
        {RESOLVED("git+https://x/r.git"), "resolved"},
        {RESOLVED("git://x/r.tgz"), "resolved"},
        {RESOLVED("github:x/r"), "resolved"},
        {RESOLVED("x/r"), "resolved"},
        {RESOLVED("file:../x.tgz"), "resolved"},
        {RESOLVED("file:///x.tgz"), "resolved"},
        {RESOLVED("/x.tgz"), "resolved"},
        {RESOLVED("../x.tgz"), "resolved"},
        {RESOLVED("http:/x/x.tgz"), "resolved"},
        {RESOLVED("HTTPS://x/x.tgz"), "resolved"},
        {RESOLVED("https://x/r.git"), "resolved"},
        {RESOLVED("https://x/r.git#x.tgz"), "resolved"},
        {RESOLVED("https://x/r.git?x.tgz"), "resolved"},
        {RESOLVED("https:///x.tgz"), "resolved"},
        {RESOLVED("https://x/.tgz"), "resolved"},
        {RESOLVED("https://.tgz"), "resolved"},
        {RESOLVED("https://user@x/x.tgz"), "resolved"},
        {RESOLVED("https://-x/x.tgz"), "resolved"},
        {RESOLVED("https://x/a b.tgz"), "resolved"},
        {RESOLVED("https://x/a\\nb.tgz"), "resolved"},
        {RESOLVED("https://x/x.tgz\\u0000"), "resolved"},
        {"{\"node_modules/x\":{" VERSION ",\"resolved\":true," INTEGRITY "}}", "resolved"},
        /* its digest */
        {"{\"node_modules/x\":{" VERSION "}}", "integrity"},
        {"{\"node_modules/x\":{" VERSION ",\"integrity\":[\"" SHA512 "\"]}}", "integrity"},
        {DIGEST(""), "integrity"},
        {DIGEST("sha1-" TENS TENS "AAAAAAA="), "integrity"},
        {DIGEST("sha512-"), "integrity"},
        {DIGEST("sha512-AAAA"), "integrity"},
        {DIGEST(SHA512 " sha1-" TENS), "integrity"},
        {DIGEST(SHA512 "="), "integrity"},
        {DIGEST(SHA512 "?x"), "integrity"},
        {DIGEST("sha512-" TENS TENS TENS TENS TENS TENS TENS TENS "AAAAAA="), "integrity"},
        {DIGEST("sha512-" TENS TENS TENS TENS TENS TENS TENS TENS "AAA_AA=="), "integrity"},
        /* what else npm would follow */
        {"{\"node_modules/x\":\"1.0.0\"}", "node_modules/x"},
        {WITH("\"link\":true"), "link"},
        {WITH("\"link\":false"), "link"},
        {"{\"node_modules/x\":{\"resolved\":\"../x\",\"link\":true}}", "node_modules/x"},
        {WITH("\"name\":\"../x\""), "name"},
        {WITH("\"name\":\"x@git+file:///r\""), "name"},
        {WITH("\"name\":7"), "name"},
        {WITH("\"inBundle\":true"), "inBundle"},
        {WITH("\"inBundle\":1"), "inBundle"},
        {"{\"node_modules/x\":{" VERSION ",\"inBundle\":true}}", "inBundle"},
        {"{\"node_modules/x\":" GOOD ",\"node_modules/x/node_modules/y\":{" VERSION
         ",\"inBundle\":true},\"node_modules/x/node_modules/y/node_modules/z\":" GOOD "}",
         "y/node_modules/z"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(lock_release) struct lock lock = {0};
        struct fault fault = {0};
        int r = take(cases[i].text, &lock, &fault);
        if (r != -EINVAL || strstr(fault.text, cases[i].named) == NULL)
            print_error("%s: %d, %s\n", cases[i].text, r, fault.text);
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(fault.text, cases[i].named));
        assert_null(lock.npm);
    }
}

static void good_packages_are_taken(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{}",
        AT("node_modules/x"),
        AT("node_modules/@s/x"),
        AT("node_modules/JSONStream"),
        AT("node_modules/a.b_c~d-e"),
        VERSIONED("0.0.0"),
        VERSIONED("10.20.30-rc.1+build.007"),
        VERSIONED("1.0.0--x"),
        DIGEST("sha512-" TENS TENS TENS TENS TENS TENS TENS TENS "a+/9AA=="),
        WITH("\"name\":\"@s/other\""),
        "{\"node_modules/@s/x\":" GOOD ",\"node_modules/@s/x/node_modules/@t/y\":" GOOD "}",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(lock_release) struct lock lock = {0}, again = {0};
        struct fault fault = {0};
        assert_int_equal(take(cases[i], &lock, &fault), 0);
        assert_string_equal(lock.npm, cases[i]);
        assert_int_equal(take(lock.npm, &again, &fault), 0);
        assert_string_equal(again.npm, lock.npm);
    }
}

static void addresses_of_archives_are_left_out(void **state)
{
    (void)state;
    static const char *const cases[] = {
        RESOLVED("https://registry.test/x/-/x-1.0.0.tgz"),
        RESOLVED("https://registry.test:8443/@s%2fx/-/x-1.0.0.tgz"),
        RESOLVED("http://10.0.0.1:4873/x/-/x-1.0.0.tgz"),
        RESOLVED("https://github.com/x/taken-for-git.tgz"),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(lock_release) struct lock lock = {0};
        assert_int_equal(take(cases[i], &lock, NULL), 0);
        assert_string_equal(lock.npm, AT("node_modules/x"));
    }
}

static void what_npm_could_act_on_is_left_out(void **state)
{
    (void)state;
    static const char text[] =
        "{\"node_modules/x\":{\"license\":\"MIT\",\"hasShrinkwrap\":true,\"bin\":{\"x\":\"/y\"},"
        "\"dependencies\":{\"y\":\"git+file:///r\"},\"bundleDependencies\":[\"y\"],"
        "\"hasInstallScript\":true,\"workspaces\":[\"..\"]," INTEGRITY "," VERSION "},"
        "\"node_modules/x/node_modules/y\":{" VERSION ",\"inBundle\":true},"
        "\"node_modules/x/node_modules/y/node_modules/z\":{" VERSION ",\"inBundle\":true}}";
    OWNED(lock_release) struct lock lock = {0};
    assert_int_equal(take(text, &lock, NULL), 0);
    assert_string_equal(lock.npm, "{\"node_modules/x\":{" VERSION "," INTEGRITY "}}");
}

static void names_end_paths(void **state)
{
    (void)state;
    assert_string_equal(lock_npm_name("node_modules/x"), "x");
    assert_string_equal(lock_npm_name("node_modules/@s/x"), "@s/x");
    assert_string_equal(lock_npm_name("node_modules/x/node_modules/@s/y"), "@s/y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bad_package_is_refused_by_name),
        cmocka_unit_test(good_packages_are_taken),
        cmocka_unit_test(addresses_of_archives_are_left_out),
        cmocka_unit_test(what_npm_could_act_on_is_left_out),
        cmocka_unit_test(names_end_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
