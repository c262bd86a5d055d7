#include "images/build/alternatives.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct alternative *find(const struct alternative_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

static void reads_a_master_with_its_slaves(void **state)
{
    (void)state;
    OWNED(alternative_list_release) struct alternative_list list = {0};
    assert_int_equal(alternatives_parse(&list,
                                        "#!/bin/sh\nset -e\n"
                                        "if [ \"$1\" = configure ]; then\n"
                                        "  update-alternatives --quiet \\\n"
                                        "\t--install /usr/bin/awk 'awk' \"/usr/bin/mawk\" 5 \\\n"
                                        "    --slave /usr/share/man/awk.1 awk.1 /m/mawk.1 \\\n"
                                        "    --slave /usr/bin/nawk nawk /usr/bin/mawk;fi\n"),
                     0);
    assert_int_equal(list.count, 3);
    assert_string_equal(find(&list, "awk")->link, "/usr/bin/awk");
    assert_string_equal(find(&list, "awk")->path, "/usr/bin/mawk");
    assert_string_equal(find(&list, "nawk")->master, "awk");
}

static void the_highest_priority_wins_with_its_slaves(void **state)
{
    (void)state;
    OWNED(alternative_list_release) struct alternative_list list = {0};
    static const char low[] = "update-alternatives --install /l blas /low 10 --slave /s s /slow\n";
    static const char high[] = "/usr/bin/update-alternatives --install /l blas /high 100";
    static const char equal[] = "update-alternatives --install /l blas /equal 100";
    assert_int_equal(alternatives_parse(&list, low), 0);
    assert_int_equal(alternatives_parse(&list, high), 0);
    assert_int_equal(alternatives_parse(&list, equal), 0);
    assert_int_equal(alternatives_parse(&list, low), 0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].path, "/high");
}

static void passes_over_what_needs_a_shell_or_is_none(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "",
        "update-alternatives --install /l n /p$X 10",
        "update-alternatives --install /l n `p` 10",
        "update-alternatives --install /l n /p ten",
        "update-alternatives --install /l n /p",
        "update-alternatives --install l n /p 1",
        "update-alternatives --install /l ../n /p 1",
        "# update-alternatives --install /l n /p 1",
        "echo --install /l n /p 1",
        "update-alternatives --remove n /p",
        "update-alternatives --install /l n '/p 1",
        "\\",
        "\"",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
        OWNED(alternative_list_release) struct alternative_list list = {0};
        assert_int_equal(alternatives_parse(&list, scripts[i]), 0);
        if (list.count != 0)
            fail_msg("%s", scripts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_master_with_its_slaves),
        cmocka_unit_test(the_highest_priority_wins_with_its_slaves),
        cmocka_unit_test(passes_over_what_needs_a_shell_or_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
