#include "interpreter/base/bounds.h"
#include "interpreter/folders/changes.h"
#include "interpreter/folders/changes_text.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define FILE_X                                                                                     \
    "{\"path\":\"x\",\"status\":\"A\",\"added\":1,\"removed\":0,\"binary\":false,\"version\":\"v\"}"
#define REPORT(files, more, left_out, patch)                                                       \
    "{\"files\":[" files "],\"more_files\":" more ",\"left_out\":[" left_out                       \
    "],\"more_left_out\":0,\"patch_bytes\":" patch "}"

static int read_text(const char *text, struct changes *changes)
{
    struct fault fault = {0};
    int r = changes_read(text, strlen(text), changes, &fault);
    assert_int_equal(r < 0, fault.text[0] != '\0');
    return r;
}

static void reads_a_report(void **state)
{
    (void)state;
    OWNED(changes_release) struct changes changes = CHANGES_NONE;
    assert_int_equal(read_text(REPORT(FILE_X ",{\"path\":\"a\\nb\",\"status\":\"D\",\"added\":0,"
                                             "\"removed\":7,\"binary\":true,\"version\":\"v\"}",
                                      "3", "{\"path\":\"d/\",\"reason\":\"a\\u0007b\"}", "42"),
                               &changes),
                     0);
    assert_int_equal(changes.file_count, 2);
    assert_string_equal(changes.files[1].path, "a\nb");
    assert_int_equal(changes.files[1].status, 'D');
    assert_int_equal(changes.files[1].removed, 7);
    assert_true(changes.files[1].is_binary);
    assert_int_equal(changes.more_files, 3);
    assert_string_equal(changes.left_out[0].path, "d/");
    assert_string_equal(changes.left_out[0].reason, "a?b");
    assert_int_equal(changes.patch_bytes, 42);
    assert_int_equal(changes.patch_fd, -1);
}

static void reads_an_empty_report(void **state)
{
    (void)state;
    OWNED(changes_release) struct changes changes = CHANGES_NONE;
    assert_int_equal(read_text(REPORT("", "0", "", "0"), &changes), 0);
    assert_false(changes.is_by_call);
}

static void refuses_every_other_report(void **state)
{
    (void)state;
    static const char *const reports[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"files\":[]}",
        REPORT("", "0", "", "0") "x",
        REPORT("", "0", "", "1"),
        REPORT(FILE_X, "0", "", "0"),
        REPORT(FILE_X, "-1", "", "1"),
        REPORT(FILE_X, "10001", "", "1"),
        REPORT(FILE_X, "0", "", "16777217"),
        REPORT(FILE_X, "0", "", "1.5"),
        REPORT(FILE_X, "0", "", "\"1\""),
        REPORT("1", "0", "", "1"),
        REPORT("null", "0", "", "1"),
        REPORT("{}", "0", "", "1"),
        REPORT(
            "{\"path\":\"\",\"status\":\"A\",\"added\":1,\"removed\":0,\"binary\":false,\"version\":\"v\"}",
            "0", "", "1"),
        REPORT(
            "{\"path\":\"a\\u0000\",\"status\":\"A\",\"added\":1,\"removed\":0,\"binary\":false,\"version\":\"v\"}",
            "0", "", "1"),
        REPORT(
            "{\"path\":\"x\",\"status\":\"X\",\"added\":1,\"removed\":0,\"binary\":false,\"version\":\"v\"}",
            "0", "", "1"),
        REPORT(
            "{\"path\":\"x\",\"status\":\"AM\",\"added\":1,\"removed\":0,\"binary\":false,\"version\":\"v\"}",
            "0", "", "1"),
        REPORT(
            "{\"path\":\"x\",\"status\":\"A\",\"added\":-1,\"removed\":0,\"binary\":false,\"version\":\"v\"}",
            "0", "", "1"),
        REPORT(
            "{\"path\":\"x\",\"status\":\"A\",\"added\":1,\"removed\":0,\"binary\":0,\"version\":\"v\"}",
            "0", "", "1"),
        REPORT(
            "{\"path\":\"x\",\"status\":\"A\",\"added\":1,\"removed\":0,\"binary\":false,\"version\":\"v\",\"y\":1}",
            "0", "", "1"),
        REPORT(
            "{\"path\":\"x\",\"status\":\"A\",\"added\":1,\"removed\":0,\"binary\":false,\"version\":1}",
            "0", "", "1"),
        REPORT("{\"path\":\"x\",\"status\":\"A\",\"added\":1,\"removed\":0,\"binary\":false}", "0",
               "", "1"),
        REPORT("", "0", "{\"path\":\"x\"}", "0"),
        REPORT("", "0", "{\"path\":\"x\",\"reason\":\"\"}", "0"),
        REPORT("", "0", "{\"path\":\"x\",\"reason\":1}", "0"),
        "{\"fault\":1}",
        "{\"fault\":\"\"}",
        "{\"files\":[],\"more_files\":0,\"left_out\":{},\"more_left_out\":0,\"patch_bytes\":0}",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(reports); i++) {
        struct changes changes = CHANGES_NONE;
        if (read_text(reports[i], &changes) != -EINVAL)
            fail_msg("%s", reports[i]);
    }
}

static void refuses_longer_lists_and_texts(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer list = BUFFER(CHANGES_REPORT_MAX);
    for (size_t i = 0; i <= CHANGES_TOLD_MAX; i++)
        assert_int_equal(buffer_format(&list, "%s" FILE_X, i > 0 ? "," : ""), 0);
    OWNED(buffer_release) struct buffer report = BUFFER(2 * CHANGES_REPORT_MAX);
    assert_int_equal(buffer_format(&report, REPORT("%s", "0", "", "1"), buffer_string(&list)), 0);
    struct changes changes = CHANGES_NONE;
    assert_int_equal(read_text(buffer_string(&report), &changes), -EINVAL);
    report.length = 0;
    assert_int_equal(buffer_format(&report,
                                   REPORT("", "0", "{\"path\":\"x\",\"reason\":\"%0*d\"}", "0"),
                                   CHANGES_REASON_SIZE + 1, 0),
                     0);
    assert_int_equal(read_text(buffer_string(&report), &changes), -EINVAL);
    assert_int_equal(changes_read("{}", CHANGES_REPORT_MAX + 1, &changes, NULL), -EINVAL);
}

static void passes_on_a_fault(void **state)
{
    (void)state;
    struct fault fault = {0};
    struct changes changes = CHANGES_NONE;
    static const char text[] = "{\"fault\":\"it\\u001b broke\"}";
    assert_int_equal(changes_read(text, strlen(text), &changes, &fault), -EPROTO);
    assert_string_equal(fault.text, "it? broke");
}

/* A patch of one folder, with these bytes. */
static void make_patch(struct folder_patches *patches, const char *folder, const char *report,
                       const char *patch)
{
    struct folder_patch *made = &patches->list[patches->count++];
    *made = (struct folder_patch){.folder = folder, .changes = CHANGES_NONE};
    assert_int_equal(read_text(report, &made->changes), 0);
    made->changes.patch_bytes = strlen(patch);
    if (patch[0] == '\0')
        return;
    made->changes.patch_fd = memfd_create("patch", MFD_CLOEXEC);
    assert_int_equal(write(made->changes.patch_fd, patch, strlen(patch)), strlen(patch));
}

static char *note_of(const struct folder_patches *patches, bool shows_patch, struct buffer *text)
{
    assert_int_equal(changes_text_note(patches, 7, shows_patch, text), 0);
    char *note = buffer_string(text);
    assert_non_null(note);
    return note;
}

static void tells_changes_in_lines(void **state)
{
    (void)state;
    static const char folder[] = "/home/me/it's";
    OWNED(folder_patches_release) struct folder_patches patches = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(65536);
    make_patch(
        &patches, folder,
        REPORT(FILE_X
               ",{\"path\":\"m\",\"status\":\"M\",\"added\":2,\"removed\":3,"
               "\"binary\":false,\"version\":\"v\"},{\"path\":\"b\",\"status\":\"M\",\"added\":0,"
               "\"removed\":0,\"binary\":true,\"version\":\"v\"},{\"path\":\"\\u001b\",\"status\":"
               "\"M\",\"added\":0,\"removed\":0,\"binary\":false,\"version\":\"v\"}",
               "1", "{\"path\":\"\",\"reason\":\"no time\"}", "5"),
        "diff \x1b\n");
    patches.list[0].name = strdup("changes.patch");
    patches.list[0].is_kept = true;
    assert_string_equal(note_of(&patches, true, &text),
                        "Changes in a copy of /home/me/it's; the folder itself is unchanged:\n"
                        "A x (+1)\n"
                        "M m (+2 -3)\n"
                        "M b (binary)\n"
                        "M \\x1b\n"
                        "and 1 more file\n"
                        "Not in the patch: parts of the folder (no time)\n"
                        "Patch (7 bytes): sandbox://files/7/changes.patch\n"
                        "diff ?");
}

/* Nothing that a shell could take for something else. */
static void offers_a_command_for_plain_paths_only(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *patch, *command;
    } cases[] = {
        {"/a/b", "/c", "\nTo apply it: git -C /a/b apply /c"},
        {"/a b/$(x)", "/c;d", "\nTo apply it: git -C '/a b/$(x)' apply '/c;d'"},
        {"/a'b", "/c", NULL},
        {"/a", "/c\nd", NULL},
        {"/a\xff", "/c", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(folder_patches_release) struct folder_patches patches = {0};
        OWNED(buffer_release) struct buffer text = BUFFER(65536);
        make_patch(&patches, cases[i].folder, REPORT(FILE_X, "0", "", "1"), "x");
        patches.list[0].path = strdup(cases[i].patch);
        const char *note = note_of(&patches, false, &text);
        const char *found = strstr(note, "\nTo apply it");
        if (cases[i].command == NULL)
            assert_null(found);
        else
            assert_string_equal(found, cases[i].command);
    }
}

static void shows_the_beginning_in_whole_lines(void **state)
{
    (void)state;
    static const char folder[] = "/a";
    OWNED(folder_patches_release) struct folder_patches patches = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(65536);
    char patch[NOTES_PATCH_MAX + 100];
    memset(patch, 'x', sizeof(patch) - 1);
    patch[sizeof(patch) - 1] = '\0';
    patch[NOTES_PATCH_MAX - 50] = '\n';
    make_patch(&patches, folder, REPORT(FILE_X, "0", "", "1"), patch);
    make_patch(&patches, folder, REPORT(FILE_X, "0", "", "1"), patch);
    const char *note = note_of(&patches, true, &text);
    assert_non_null(strstr(note, "x\n[... 149 bytes of the patch not shown ...]\nChanges in"));
    assert_true(strlen(note) < NOTES_PATCH_MAX + 1000);
}

static void tells_what_is_lost(void **state)
{
    (void)state;
    OWNED(folder_patches_release) struct folder_patches patches = {.count = 1, .lost = 2};
    OWNED(buffer_release) struct buffer text = BUFFER(65536);
    patches.list[0] = (struct folder_patch){
        .folder = "/a", .failure = strdup("it broke"), .changes = CHANGES_NONE};
    assert_string_equal(note_of(&patches, true, &text),
                        "What it wrote to its copy of /a is lost: it broke.\n"
                        "What it wrote to its copies of 2 folders is lost.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_report),
        cmocka_unit_test(reads_an_empty_report),
        cmocka_unit_test(refuses_every_other_report),
        cmocka_unit_test(refuses_longer_lists_and_texts),
        cmocka_unit_test(passes_on_a_fault),
        cmocka_unit_test(tells_changes_in_lines),
        cmocka_unit_test(offers_a_command_for_plain_paths_only),
        cmocka_unit_test(shows_the_beginning_in_whole_lines),
        cmocka_unit_test(tells_what_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
