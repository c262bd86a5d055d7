#include "images/build/sources.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char deb822[] = "# a comment\n"
                             "Types: deb deb-src\n"
                             "URIs: https://mirror.example/debian/ https://second.example/debian\n"
                             "Suites: bookworm bookworm-updates\n"
                             "Components: main contrib\n"
                             "Signed-By:\n"
                             " -----BEGIN PGP PUBLIC KEY BLOCK-----\n"
                             " .\n"
                             " -----END PGP PUBLIC KEY BLOCK-----\n"
                             "\n"
                             "\n"
                             "types: deb\n"
                             "uris: https://mirror.example/debian-security\n"
                             "suites: bookworm-security\n"
                             "components: main\n"
                             "check-date: no\n"
                             "\n"
                             "Types: deb\n"
                             "Enabled: no\n"
                             "URIs: https://off.example/debian\n"
                             "Suites: bookworm\n"
                             "Components: main\n";

static void reads_deb822_stanzas(void **state)
{
    (void)state;
    OWNED(source_list_release) struct source_list list = {0};
    assert_int_equal(sources_parse_deb822(&list, deb822), 0);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.items[0].uri, "https://mirror.example/debian");
    assert_string_equal(list.items[1].suite, "bookworm-updates");
    assert_non_null(strstr(list.items[0].options, "END PGP PUBLIC KEY BLOCK"));
    assert_string_equal(list.items[4].uri, "https://mirror.example/debian-security");
    assert_string_equal(list.items[4].options, "Check-Date: no\n");
}

static void reads_one_line_entries(void **state)
{
    (void)state;
    OWNED(source_list_release) struct source_list list = {0};
    assert_int_equal(
        sources_parse_lines(&list, "deb [ arch=amd64 signed-by=/k.gpg trusted=yes ] "
                                   "https://mirror.example/debian/ bookworm main contrib # x\n"
                                   "# deb https://mirror.example/debian bookworm main\n"
                                   "deb-src https://mirror.example/debian bookworm main\n"
                                   "deb https://mirror.example/debian bookworm contrib\n"
                                   "deb [ https://mirror.example/debian bookworm main\n"
                                   "deb\nnonsense\n"
                                   "  deb\thttps://b.example/debian sid main"),
        0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].uri, "https://mirror.example/debian");
    assert_string_equal(list.items[0].options, "Signed-By: /k.gpg\nTrusted: yes\n");
    assert_string_equal(list.items[1].suite, "sid");
}

static void an_address_of_slashes_alone_is_none(void **state)
{
    (void)state;
    OWNED(source_list_release) struct source_list list = {0};
    assert_int_equal(sources_parse_lines(&list, "deb // bookworm main\n"), 0);
    assert_int_equal(sources_parse_deb822(&list, "Types: deb\nURIs: / file:///\nSuites: sid\n"
                                                 "Components: main\n"),
                     0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].uri, "file:");
}

static void chooses_debian_and_not_what_stands_beside(void **state)
{
    (void)state;
    OWNED(source_list_release) struct source_list list = {0};
    static const char lines[] = "deb https://vendor.example/packages stable main\n"
                                "deb https://vendor.example/node bookworm main\n"
                                "deb https://mirror.example/ubuntu noble main\n";
    assert_int_equal(sources_parse_lines(&list, lines), 0);
    assert_null(sources_choose(&list, "").main);
    assert_int_equal(sources_parse_deb822(&list, deb822), 0);
    struct debian_archive archive = sources_choose(&list, "");
    assert_string_equal(archive.main->uri, "https://mirror.example/debian");
    assert_string_equal(archive.updates->suite, "bookworm-updates");
    assert_string_equal(archive.security->uri, "https://mirror.example/debian-security");
}

static void an_origin_that_apt_has_seen_decides(void **state)
{
    (void)state;
    OWNED(source_list_release) struct source_list list = {0};
    assert_int_equal(sources_parse_lines(&list, "deb https://a.example/deb12 bookworm main\n"), 0);
    assert_null(sources_choose(&list, "Other https://a.example/deb12/ bookworm\n").main);
    assert_non_null(sources_choose(&list, "Debian https://a.example/deb12/ bookworm\n").main);
}

static void lists_of_mirrors_are_known_by_name(void **state)
{
    (void)state;
    OWNED(source_list_release) struct source_list list = {0};
    assert_int_equal(sources_parse_lines(&list, "deb mirror+file:///etc/m/debian.list sid main\n"),
                     0);
    assert_non_null(sources_choose(&list, "").main);
}

static void writes_the_suite_asked_for_with_the_host_s_keyring(void **state)
{
    (void)state;
    OWNED(source_list_release) struct source_list list = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(65536);
    assert_int_equal(sources_parse_deb822(&list, deb822), 0);
    struct debian_archive archive = sources_choose(&list, "");
    assert_int_equal(sources_write(&archive, "trixie", "arm64", &text), 0);
    OWNED(source_list_release) struct source_list written = {0};
    assert_int_equal(sources_parse_deb822(&written, buffer_string(&text)), 0);
    assert_int_equal(written.count, 3);
    assert_string_equal(written.items[0].suite, "trixie");
    assert_string_equal(written.items[0].uri, list.items[0].uri);
    assert_string_equal(written.items[0].options, list.items[0].options);
    assert_string_equal(written.items[1].suite, "trixie-updates");
    assert_string_equal(written.items[2].suite, "trixie-security");
    assert_string_equal(written.items[2].options, "Check-Date: no\n");
    assert_non_null(strstr(text.data, "Architectures: arm64\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_deb822_stanzas),
        cmocka_unit_test(reads_one_line_entries),
        cmocka_unit_test(an_address_of_slashes_alone_is_none),
        cmocka_unit_test(chooses_debian_and_not_what_stands_beside),
        cmocka_unit_test(an_origin_that_apt_has_seen_decides),
        cmocka_unit_test(lists_of_mirrors_are_known_by_name),
        cmocka_unit_test(writes_the_suite_asked_for_with_the_host_s_keyring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
