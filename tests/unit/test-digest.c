#include "images/base/digest.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* FIPS 180-4, of "abc". */
#define ABC_256 "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ABC_512                                                                                    \
    "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"                      \
    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"

static struct digest digest_of(const char *text)
{
    struct digest digest;
    assert_int_equal(digest_parse(text, strlen(text), &digest), 0);
    return digest;
}

static void known_digests_come_out(void **state)
{
    (void)state;
    static const char *const texts[] = {ABC_256, ABC_512};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct digest wanted = digest_of(texts[i]), found;
        OWNED(digest_release) struct digest_stream *stream = NULL;
        assert_int_equal(digest_open(&wanted, &stream), 0);
        assert_int_equal(digest_update(stream, "a", 1), 0);
        assert_int_equal(digest_update(stream, "bc", 2), 0);
        assert_int_equal(digest_finish(stream, &found), 0);
        assert_true(digest_equal(&wanted, &found));
        assert_true(digest_matches(&wanted, "abc", 3));
        assert_false(digest_matches(&wanted, "abd", 3));
        assert_false(digest_matches(&wanted, "abc", 2));
    }
}

static void malformed_ones_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "sha256:",
        "sha256",
        "sha256:ba7816bf",
        "SHA256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha256:BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha256:ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad0",
        "sha512:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "md5:900150983cd24fb0d6963f7d28e17f72",
        " " ABC_256,
        ABC_256 "/../../x",
        ABC_512 "0",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct digest digest = {"as it was"};
        if (digest_parse(texts[i], strlen(texts[i]), &digest) != -22)
            fail_msg("taken: %s", texts[i]);
        assert_string_equal(digest.text, "as it was");
    }
    struct digest digest;
    assert_int_equal(digest_parse(ABC_256 "\0", sizeof(ABC_256), &digest), -22);
}

static void algorithms_are_there(void **state)
{
    (void)state;
    assert_int_equal(digest_prepare(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms_are_there),
        cmocka_unit_test(known_digests_come_out),
        cmocka_unit_test(malformed_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
