#include "interpreter/changes/changes_report.h"
#include "interpreter/changes/patch.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct file_version version_of(unsigned mode, const char *text)
{
    return (struct file_version){mode, text[0] != '\0' ? strdup(text) : NULL, strlen(text)};
}

static void add(struct change_list *changes, const char *path, struct file_version old,
                struct file_version new)
{
    change_list_add(changes, path, &old, &new);
}

static char *written(struct change_list *changes, struct buffer *text)
{
    struct fault fault = {0};
    assert_int_equal(patch_write(changes, text, &fault), 0);
    char *patch = buffer_string(text);
    assert_non_null(patch);
    return patch;
}

static void writes_each_status(void **state)
{
    (void)state;
    OWNED(change_list_release) struct change_list changes = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    add(&changes, "added", VERSION_ABSENT, version_of(MODE_PROGRAM, "1\n"));
    add(&changes, "changed", version_of(MODE_FILE, "1\n2\n"), version_of(MODE_FILE, "1\n3"));
    add(&changes, "gone", version_of(MODE_LINK, "x"), VERSION_ABSENT);
    add(&changes, "mode", version_of(MODE_FILE, "1\n"), version_of(MODE_PROGRAM, "1\n"));
    assert_string_equal(written(&changes, &text),
                        "diff --git a/added b/added\n"
                        "new file mode 100755\n"
                        "index 0000000000000000000000000000000000000000.."
                        "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d\n"
                        "--- /dev/null\n"
                        "+++ b/added\n"
                        "@@ -0,0 +1 @@\n"
                        "+1\n"
                        "diff --git a/changed b/changed\n"
                        "index 1191247b6d9a206f6ba3d8ac79e26d041dd86941.."
                        "c396a2c5c7d866fe27a8ca63fd6456efb3dd22f0 100644\n"
                        "--- a/changed\n"
                        "+++ b/changed\n"
                        "@@ -1,2 +1,2 @@\n"
                        " 1\n"
                        "-2\n"
                        "+3\n"
                        "\\ No newline at end of file\n"
                        "diff --git a/gone b/gone\n"
                        "deleted file mode 120000\n"
                        "index c1b0730e0133447badcfd47fd144e254807b06e1.."
                        "0000000000000000000000000000000000000000\n"
                        "--- a/gone\n"
                        "+++ /dev/null\n"
                        "@@ -1 +0,0 @@\n"
                        "-x\n"
                        "\\ No newline at end of file\n"
                        "diff --git a/mode b/mode\n"
                        "old mode 100644\n"
                        "new mode 100755\n");
    assert_int_equal(changes.changes[1].added, 1);
    assert_int_equal(changes.changes[1].removed, 1);
}

static void tells_binary_files_apart(void **state)
{
    (void)state;
    OWNED(change_list_release) struct change_list changes = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    struct file_version binary = {MODE_FILE, malloc(3), 3};
    memcpy(binary.bytes, "a\0b", 3);
    add(&changes, "binary", VERSION_ABSENT, binary);
    assert_non_null(strstr(written(&changes, &text), "\nGIT binary patch\nliteral 3\n"));
    assert_true(changes.changes[0].is_binary);
    assert_int_equal(changes.changes[0].added, 0);
}

static void leaves_out_what_does_not_fit(void **state)
{
    (void)state;
    OWNED(change_list_release) struct change_list changes = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(400);
    char large[1000];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    add(&changes, "a", VERSION_ABSENT, version_of(MODE_FILE, "1\n"));
    add(&changes, "b", VERSION_ABSENT, version_of(MODE_FILE, large));
    add(&changes, "c", VERSION_ABSENT, version_of(MODE_FILE, "2\n"));
    const char *patch = written(&changes, &text);
    assert_null(strstr(patch, "b/b"));
    assert_non_null(strstr(patch, "+++ b/c\n"));
    assert_int_equal(changes.left_out_count, 1);
    assert_string_equal(changes.left_out[0].path, "b");
    assert_int_equal(changes.left_out[0].reason, LEFT_PATCH_SIZE);
}

/* git would remove half of the directory, and then fail. */
static void leaves_out_what_takes_the_place_of_what_stays(void **state)
{
    (void)state;
    OWNED(change_list_release) struct change_list changes = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(600);
    char large[1000];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    add(&changes, "d/a", version_of(MODE_FILE, large), VERSION_ABSENT);
    add(&changes, "d/b", version_of(MODE_FILE, "1\n"), VERSION_ABSENT);
    add(&changes, "d", VERSION_ABSENT, version_of(MODE_FILE, "1\n"));
    add(&changes, "f", version_of(MODE_FILE, large), VERSION_ABSENT);
    add(&changes, "f/x/y", VERSION_ABSENT, version_of(MODE_FILE, "1\n"));
    add(&changes, "fx", VERSION_ABSENT, version_of(MODE_FILE, "1\n"));
    (void)written(&changes, &text);
    assert_true(changes.changes[0].is_left_out);
    assert_false(changes.changes[1].is_left_out);
    assert_true(changes.changes[2].is_left_out);
    assert_true(changes.changes[4].is_left_out);
    assert_false(changes.changes[5].is_left_out);
    assert_int_equal(changes.left_out[1].reason, LEFT_IN_THE_WAY);
}

static void bounds_the_list(void **state)
{
    (void)state;
    OWNED(change_list_release) struct change_list changes = {0};
    for (size_t i = 0; i < CHANGES_COUNT_MAX + 2 * CHANGES_LEFT_OUT_MAX; i++)
        add(&changes, "x", VERSION_ABSENT, version_of(MODE_FILE, ""));
    assert_int_equal(changes.count, CHANGES_COUNT_MAX);
    assert_int_equal(changes.left_out_count, CHANGES_LEFT_OUT_MAX - 2);
    change_list_leave_out(&changes, "y/", LEFT_NAMES, 0);
    assert_string_equal(changes.left_out[CHANGES_LEFT_OUT_MAX - 2].path, "y/");
    change_list_leave_out(&changes, "z/", LEFT_TIME, 0);
    change_list_leave_out(&changes, ".gitignore", LEFT_IGNORED, 1);
    assert_string_equal(changes.left_out[CHANGES_LEFT_OUT_MAX - 1].path, ".gitignore");
    assert_int_equal(changes.left_out_count + changes.left_out_more, 2 * CHANGES_LEFT_OUT_MAX + 3);
}

static void each_reason_is_told(void **state)
{
    (void)state;
    OWNED(change_list_release) struct change_list changes = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(CHANGES_REPORT_MAX);
    for (enum left_out_reason reason = 0; reason <= LEFT_MEMORY; reason++)
        change_list_leave_out(&changes, "p", reason, SIZE_MAX);
    assert_int_equal(changes_report_write(&changes, 0, &text), 0);
    OWNED(json_release) struct json *json = NULL;
    assert_int_equal(json_parse(text.data, text.length, &json, NULL), 0);
    const struct json_value *list = json_member(json_root(json), "left_out");
    assert_int_equal(list->count, LEFT_MEMORY + 1);
    for (const struct json_value *entry = list->first; entry != NULL; entry = entry->next) {
        const struct json_value *reason = json_member(entry, "reason");
        assert_non_null(strstr(reason->text, ": 18446744073709551615 changed"));
        assert_true(reason->length < CHANGES_REASON_SIZE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_each_status),
        cmocka_unit_test(tells_binary_files_apart),
        cmocka_unit_test(leaves_out_what_does_not_fit),
        cmocka_unit_test(leaves_out_what_takes_the_place_of_what_stays),
        cmocka_unit_test(bounds_the_list),
        cmocka_unit_test(each_reason_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
