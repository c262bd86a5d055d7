#include "interpreter/files/media_type.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_type(const char *path, const char *head, const char *type)
{
    assert_string_equal(media_type_of(path, head, strlen(head)), type);
}

static void extensions_tell(void **state)
{
    (void)state;
    assert_type("totals.csv", "a,b", "text/csv");
    assert_type("d.csv/TOTALS.CSV", "", "text/csv");
    assert_type("a.tar.gz", "", "application/gzip");
    assert_type("plot.svg", "<svg", "image/svg+xml");
    assert_type("book.xlsx", "PK",
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet");
}

static void pictures_are_told_by_their_first_bytes_alone(void **state)
{
    (void)state;
    assert_type("a.png", "\xff\xd8\xff\xe0", "image/jpeg");
    assert_type("a.csv", "\x89PNG\r\n\x1a\n", "image/png");
    assert_type("a.png", "text", MEDIA_TYPE_UNKNOWN);
    assert_type("a.jpeg", "", MEDIA_TYPE_UNKNOWN);
}

static void what_is_not_known_is_bytes(void **state)
{
    (void)state;
    static const char *const paths[] = {"README", "a.",     ".csv", "d.csv/x",
                                        "a.csv2", "a.csv ", "",     "a/"};
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
        assert_type(paths[i], "text", MEDIA_TYPE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extensions_tell),
        cmocka_unit_test(pictures_are_told_by_their_first_bytes_alone),
        cmocka_unit_test(what_is_not_known_is_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
