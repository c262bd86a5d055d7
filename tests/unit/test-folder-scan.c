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
    {".git/", CARE_PROTECT},
    {".git/HEAD", CARE_NONE},
    {".git/config", CARE_NONE},
    {".git/hooks/", CARE_NONE},
    {".git/hooks/pre-commit", CARE_NONE},
    {".git/hooks/|fifo", CARE_HIDE},
    {".git/modules/", CARE_NONE},
    {".git/modules/a/", CARE_NONE},
    {".git/modules/a/config", CARE_NONE},
    {"bare/", CARE_PROTECT},
    {"bare/HEAD", CARE_NONE},
    {"bare/objects/", CARE_NONE},
    {"bare/refs/", CARE_NONE},
    {"tree/", CARE_PROTECT},
    {"tree/HEAD", CARE_NONE},
    {"tree/commondir", CARE_NONE},
    {"data/", CARE_NONE},
    {"data/HEAD", CARE_NONE},
    {"data/refs/", CARE_NONE},
    {"sub/", CARE_PIN}, /* of a repository */
    {"sub/.git", CARE_PROTECT},
    {"sub/deep/", CARE_NONE},
    {"sub/deep/.envrc", CARE_PROTECT},
    {"sub/deep/.ENVRC", CARE_PROTECT},
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

static int scan_one(struct folder *folder, struct folder_scan *scan, struct fault *fault)
{
    const struct folders folders = {folder, 1};
    folder_scan_release(scan);
    return folder_scan_read(&folders, scan, fault);
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
    assert_int_equal(scan_one(*state, &scan, NULL), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(entries); i++)
        if (care_of(&scan, entries[i].path) != entries[i].care)
            fail_msg("%s: %d", entries[i].path, care_of(&scan, entries[i].path));
    assert_int_equal(scan.count, expected);
    /* A directory comes before what is in it: it is mounted first. */
    for (size_t i = 0; i < scan.count; i++)
        for (size_t j = i + 1; j < scan.count; j++)
            assert_false(path_is_below(scan.list[i].path, scan.list[j].path));
}

static void make_link(const char *name, const char *target)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(symlink(target, path), 0);
}

static void fill(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    OWNED_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void what_protected_names_lead_to_is_protected(void **state)
{
    static const struct {
        const char *path;
        enum folder_care care;
    } expected[] = {
        {".husky", CARE_PROTECT}, {"a", CARE_PROTECT},         {"b", CARE_PIN},
        {"b/c", CARE_PROTECT},    {"b/d", CARE_PIN},           {".git", CARE_PROTECT},
        {"git", CARE_PROTECT},    {"git/deep", CARE_NONE},     {"common", CARE_PROTECT},
        {"hooks", CARE_PROTECT},  {"more", CARE_PROTECT},      {".envrc", CARE_PROTECT},
        {"same", CARE_PROTECT},   {".mcp.json", CARE_PROTECT},
    };
    static const char *const made[] = {"b/",        "b/c/",    "b/d/",   "git/",
                                       "git/deep/", "common/", "hooks/", "same"};
    for (size_t i = 0; i < ARRAY_LENGTH(made); i++)
        make(made[i]);
    make_link(".husky", "a");
    make_link("a", "b/d/.././c");
    make_link(".mcp.json", "absent");
    make_link("b/c/round", "round");
    fill(".git", "gitdir: git\n");
    fill("git/commondir", "../common\n");
    fill("common/config", "[include]\npath = ../more\n");
    fill("more", "[core]\nhooksPath = ../hooks\n[include]\npath = ../more\n");
    char from[PATH_MAX];
    char to[PATH_MAX];
    snprintf(from, sizeof(from), "%s/same", root);
    snprintf(to, sizeof(to), "%s/.envrc", root);
    assert_int_equal(link(from, to), 0);
    OWNED(folder_scan_release) struct folder_scan scan = {0};
    assert_int_equal(scan_one(*state, &scan, NULL), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        if (care_of(&scan, expected[i].path) != expected[i].care)
            fail_msg("%s: %d", expected[i].path, care_of(&scan, expected[i].path));
    assert_int_equal(scan.count, ARRAY_LENGTH(expected) - 1);
}

static void folder_that_would_be_protected_as_a_whole_is_refused(void **state)
{
    static const char *const targets[] = {".", "..", "/", "sub/.."};
    const struct folders folders = {*state, 1};
    make("sub/");
    for (size_t i = 0; i < ARRAY_LENGTH(targets); i++) {
        OWNED(folder_guard_release) struct folder_guard guard = {.folders = &folders};
        struct jail_plan plan = {0};
        char path[96];
        make_link(".husky", targets[i]);
        assert_int_equal(folder_guard_open(&guard, &plan, NULL), -EPERM);
        snprintf(path, sizeof(path), "%s/.husky", root);
        assert_int_equal(unlink(path), 0);
    }
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
    assert_int_equal(scan_one(*state, &scan, &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "levels"));
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s/d", root);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i <= FOLDER_PARTS_MAX; i++) {
        snprintf(name, sizeof(name), "|%zu", i);
        make(name);
    }
    fault = (struct fault){0};
    assert_int_equal(scan_one(*state, &scan, &fault), -E2BIG);
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
    int r = scan_one(*state, &scan, &fault);
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
        TEST(what_protected_names_lead_to_is_protected),
        TEST(folder_that_would_be_protected_as_a_whole_is_refused),
        TEST(too_many_parts_and_levels_are_refused),
        TEST(own_directory_that_cannot_be_read_is_refused),
        TEST(folder_that_was_replaced_is_refused),
        TEST(names_that_appear_or_are_replaced_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
