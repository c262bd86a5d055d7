#include "sandbox/jail/folders/folder_guard.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/host_fence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

/* What is in the folder, in this order, and what it needs. A name that ends in / is a directory. */
static const struct {
    const char *path;
    enum folder_care care;
} entries[] = {
    {"plain/", CARE_NONE},
    {"plain/a", CARE_NONE},
    {"plain/config", CARE_NONE},
    {"plain/hooks/", CARE_NONE},
    {".git/", CARE_PIN},
    {".git/HEAD", CARE_NONE},
    {".git/config", CARE_PROTECT},
    {".git/config.worktree", CARE_PROTECT},
    {".git/info/", CARE_PROTECT},
    {".git/info/attributes", CARE_NONE},
    {".git/hooks/", CARE_PROTECT},
    {".git/hooks/pre-commit", CARE_NONE},
    {".git/hooks/|fifo", CARE_HIDE},
    {".git/refs/", CARE_NONE},
    {".git/refs/config", CARE_NONE},
    {".git/modules/", CARE_PIN},
    {".git/modules/a/", CARE_NONE},
    {".git/modules/a/b/", CARE_NONE},
    {".git/modules/a/b/config", CARE_PROTECT},
    {".git/modules/a/b/hooks/", CARE_PROTECT},
    {"sub/", CARE_NONE},
    {"sub/.git", CARE_PROTECT},
    {"sub/deep/", CARE_NONE},
    {"sub/deep/.envrc", CARE_PROTECT},
    {"sub/deep/.vscode/", CARE_PROTECT},
    {"sub/deep/.vscode/.vscode/", CARE_NONE},
    {".github/", CARE_PIN},
    {".github/hooks/", CARE_PROTECT},
    {".github/workflows/", CARE_NONE},
    {".mcp.json", CARE_PROTECT},
    {"mcp.json", CARE_NONE},
    {".bashrc", CARE_PROTECT},
    {"|fifo", CARE_HIDE},
    {"@link", CARE_NONE},
};

static char root[64];

static void make(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    size_t length = strlen(path);
    char *base = strrchr(path, '/') + 1;
    if (path[length - 1] == '/') {
        path[length - 1] = '\0';
        assert_int_equal(mkdir(path, 0755), 0);
    } else if (base[0] == '|') {
        assert_int_equal(mkfifo(path, 0600), 0);
    } else if (base[0] == '@') {
        assert_int_equal(symlink("/", path), 0);
    } else {
        OWNED_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
    }
}

static int tree_make(void **state)
{
    static struct folder folder;
    strcpy(root, "/tmp/test-folder-scan-XXXXXX");
    assert_non_null(mkdtemp(root));
    folder = (struct folder){.fd = -1, .place = root, .mode = FOLDER_WRITABLE};
    assert_int_equal(folder_open(root, &folder, NULL), 0);
    *state = &folder;
    return 0;
}

static int tree_remove(void **state)
{
    struct folder *folder = *state;
    char command[128];
    free(folder->path);
    fd_close(&folder->fd);
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static enum folder_care care_of(const struct folder_scan *scan, const char *path)
{
    size_t length = strlen(path);
    length -= path[length - 1] == '/';
    for (size_t i = 0; i < scan->count; i++)
        if (strlen(scan->list[i].path) == length && memcmp(scan->list[i].path, path, length) == 0)
            return scan->list[i].care;
    return CARE_NONE;
}

static void each_name_gets_the_care_it_needs(void **state)
{
    size_t expected = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
        make(entries[i].path);
        expected += entries[i].care != CARE_NONE;
    }
    OWNED(folder_scan_release) struct folder_scan scan = {0};
    assert_int_equal(folder_scan_read(*state, &scan, NULL), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(entries); i++)
        if (care_of(&scan, entries[i].path) != entries[i].care)
            fail_msg("%s: %d", entries[i].path, care_of(&scan, entries[i].path));
    assert_int_equal(scan.count, expected);
    /* A directory comes before what is in it: it is mounted first. */
    for (size_t i = 0; i < scan.count; i++)
        for (size_t j = i + 1; j < scan.count; j++)
            assert_false(path_is_below(scan.list[i].path, scan.list[j].path));
}

static void too_many_parts_and_levels_are_refused(void **state)
{
    char name[PATH_MAX] = "";
    for (size_t i = 0; i <= FOLDER_DEPTH_MAX; i++) {
        strcat(name, "d/");
        make(name);
    }
    struct fault fault = {0};
    OWNED(folder_scan_release) struct folder_scan scan = {0};
    assert_int_equal(folder_scan_read(*state, &scan, &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "levels"));
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s/d", root);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i <= FOLDER_PARTS_MAX; i++) {
        snprintf(name, sizeof(name), "|%zu", i);
        make(name);
    }
    fault = (struct fault){0};
    assert_int_equal(folder_scan_read(*state, &scan, &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "use the mode overlay"));
}

static void own_directory_that_cannot_be_read_is_refused(void **state)
{
    make("closed/");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/closed", root);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(root, 0755), 0);
    struct fault fault = {0};
    OWNED(folder_scan_release) struct folder_scan scan = {0};
    /* Root reads every directory, but not with the file system id of another: setfsuid(2). */
    setfsuid(geteuid() == 0 ? NOBODY : geteuid());
    int r = folder_scan_read(*state, &scan, &fault);
    setfsuid(geteuid());
    assert_int_equal(r, -EACCES);
    assert_non_null(strstr(fault.text, "closed"));
    assert_int_equal(chmod(path, 0700), 0);
}

static void names_that_appear_or_are_replaced_are_told(void **state)
{
    struct folder list[] = {*(struct folder *)*state, *(struct folder *)*state};
    list[0].mode = FOLDER_READ_ONLY;
    const struct folders folders = {list, ARRAY_LENGTH(list)};
    OWNED(folder_guard_release) struct folder_guard guard = {.folders = &folders};
    OWNED(folder_changes_release) struct folder_changes changes = {0};
    struct jail_plan plan = {0};
    make("a/");
    make("a/.idea/");
    make(".envrc");
    assert_int_equal(folder_guard_open(&guard, &plan, NULL), 0);
    assert_int_equal(plan.folder_part_count, 2);
    assert_int_equal(plan.folder_parts[0].folder, 1);
    folder_guard_compare(&guard, &changes);
    assert_int_equal(changes.count, 0);

    char from[PATH_MAX];
    char to[PATH_MAX];
    snprintf(from, sizeof(from), "%s/a", root);
    snprintf(to, sizeof(to), "%s/b", root);
    assert_int_equal(rename(from, to), 0);
    make("a/");
    make("a/.idea/"); /* in the place of the one that is now b/.idea */
    make(".husky/");
    make("harmless");
    folder_guard_compare(&guard, &changes);
    assert_int_equal(changes.count, 3);
    static const char *const expected[] = {"a/.idea", "b/.idea", ".husky"};
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
        bool found = false;
        snprintf(to, sizeof(to), "%s/%s", root, expected[i]);
        for (size_t j = 0; j < changes.count; j++)
            found = found || strcmp(changes.list[j], to) == 0;
        assert_true(found);
    }
    assert_false(changes.is_unknown);
    assert_int_equal(changes.more, 0);
}

static void folder_that_was_replaced_is_refused(void **state)
{
    const struct folders folders = {*state, 1};
    OWNED(folder_guard_release) struct folder_guard guard = {.folders = &folders};
    struct jail_plan plan = {0};
    struct fault fault = {0};
    char away[96];
    snprintf(away, sizeof(away), "%s-away", root);
    assert_int_equal(rename(root, away), 0);
    assert_int_equal(folder_guard_open(&guard, &plan, &fault), -ESTALE);
    assert_int_equal(mkdir(root, 0700), 0);
    assert_int_equal(folder_guard_open(&guard, &plan, NULL), -ESTALE);
    assert_int_equal(rmdir(root), 0);
    assert_int_equal(rename(away, root), 0);
    assert_int_equal(folder_guard_open(&guard, &plan, NULL), 0);
    assert_non_null(strstr(fault.text, "restart"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_name_gets_the_care_it_needs),
        TEST(too_many_parts_and_levels_are_refused),
        TEST(own_directory_that_cannot_be_read_is_refused),
        TEST(folder_that_was_replaced_is_refused),
        TEST(names_that_appear_or_are_replaced_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
