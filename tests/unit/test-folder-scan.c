#include "sandbox/jail/folders/folder_guard.h"

#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/folders/git_files.h"
#include "sandbox/jail/folders/host_fence.h"

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
#include <sys/mman.h>
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

/* Settings of git with so many lines, each of which names a directory with 1000 names. */
static void make_hooks(const char *directory, size_t lines)
{
    OWNED(buffer_release) struct buffer text = BUFFER(GIT_FILE_MAX);
    char name[PATH_MAX];
    assert_int_equal(buffer_append_text(&text, "[core]\n"), 0);
    for (size_t i = 0; i < lines; i++)
        assert_int_equal(buffer_format(&text, "hooksPath = %s/h\n", root), 0);
    snprintf(name, sizeof(name), "%s/config", directory);
    fill(name, buffer_string(&text));
}

static void make_many(void)
{
    char name[32];
    make("h/");
    for (size_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "h/%zu", i);
        make(name);
    }
}

static void names_of_hooks_count_each_time(void **state)
{
    struct fault fault = {0};
    OWNED(folder_scan_release) struct folder_scan scan = {0};
    make_many();
    make(".git/");
    make_hooks(".git", FOLDER_NAMES_MAX / 1000 / 2);
    assert_int_equal(scan_one(*state, &scan, NULL), 0);
    make_hooks(".git", FOLDER_NAMES_MAX / 1000);
    assert_int_equal(scan_one(*state, &scan, &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "names"));
}

static void names_of_parts_count_together(void **state)
{
    struct folder list[2] = {{.fd = -1, .mode = FOLDER_WRITABLE},
                             {.fd = -1, .mode = FOLDER_WRITABLE}};
    const struct folders folders = {list, ARRAY_LENGTH(list)};
    struct folder_scan scans[FOLDERS_MAX] = {0};
    struct fault fault = {0};
    char path[PATH_MAX];
    char target[PATH_MAX];
    (void)state;
    make_many();
    for (size_t i = 0; i < ARRAY_LENGTH(list); i++) {
        make(i == 0 ? "0/" : "1/");
        snprintf(path, sizeof(path), "%s/%zu", root, i);
        assert_int_equal(folder_open(path, &list[i], NULL), 0);
    }
    make_link("0/.husky", "../1/1");
    for (size_t i = 1; i <= 6; i++) { /* 1/1, 0/2, 1/3 and so on */
        snprintf(path, sizeof(path), "%zu/%zu/", i % 2, i);
        make(path);
        make_hooks(path, FOLDER_NAMES_MAX / 1000 / 5);
        strcat(path, "next");
        snprintf(target, sizeof(target), "../../%zu/%zu", (i + 1) % 2, i + 1);
        make_link(path, target);
    }
    assert_int_equal(folder_scan_read(&folders, scans, &fault), -E2BIG);
    for (size_t i = 0; i < ARRAY_LENGTH(list); i++) {
        folder_scan_release(&scans[i]);
        free(list[i].path);
        fd_close(&list[i].fd);
    }
}

static void what_protected_names_above_lead_to_is_protected(void **state)
{
    static const char *const expected[] = {"mcp", "settings", "same"};
    struct folder folder = {.fd = -1, .mode = FOLDER_WRITABLE};
    OWNED(folder_scan_release) struct folder_scan scan = {0};
    char from[PATH_MAX];
    char to[PATH_MAX];
    (void)state;
    make("sub/");
    make(".claude/");
    make("sub/other");
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
        snprintf(to, sizeof(to), "sub/%s", expected[i]);
        make(to);
    }
    make_link(".mcp.json", "sub/mcp");
    make_link(".claude/settings.json", "../sub/settings");
    snprintf(from, sizeof(from), "%s/sub/same", root);
    snprintf(to, sizeof(to), "%s/.envrc", root);
    assert_int_equal(link(from, to), 0);
    snprintf(from, sizeof(from), "%s/sub", root);
    assert_int_equal(folder_open(from, &folder, NULL), 0);
    int r = scan_one(&folder, &scan, NULL);
    free(folder.path);
    fd_close(&folder.fd);
    assert_int_equal(r, 0);
    assert_int_equal(scan.count, ARRAY_LENGTH(expected));
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        assert_int_equal(care_of(&scan, expected[i]), CARE_PROTECT);
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

static void name_that_was_away_is_told(void **state)
{
    const struct folders folders = {*state, 1};
    OWNED(folder_guard_release) struct folder_guard guard = {.folders = &folders};
    OWNED(folder_changes_release) struct folder_changes changes = {0};
    struct jail_plan plan = {0};
    char name[96];
    char other[96];
    make(".envrc");
    make(".mcp.json");
    assert_int_equal(folder_guard_open(&guard, &plan, NULL), 0);
    usleep(20000); /* longer than a tick of the clock of file times */
    snprintf(name, sizeof(name), "%s/.envrc", root);
    snprintf(other, sizeof(other), "%s/other", root);
    assert_int_equal(link(name, other), 0);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rename(other, name), 0);
    folder_guard_compare(&guard, &changes);
    assert_int_equal(changes.count, 1);
    assert_string_equal(changes.list[0], name);
}

/* The names that a comparison tells. */
static size_t told(struct folder_guard *guard)
{
    OWNED(folder_changes_release) struct folder_changes changes = {0};
    folder_guard_compare(guard, &changes);
    assert_false(changes.is_unknown);
    return changes.count + changes.more;
}

static void what_changes_in_a_name_that_appeared_is_told(void **state)
{
    const struct folders folders = {*state, 1};
    OWNED(folder_guard_release) struct folder_guard guard = {.folders = &folders};
    struct jail_plan plan = {0};
    char path[96];
    make(".vscode/");
    assert_int_equal(folder_guard_open(&guard, &plan, NULL), 0);
    make(".claude/");
    make(".claude/sub/");
    make("bare/");
    make("bare/HEAD");
    make("bare/objects/");
    make("bare/refs/");
    assert_int_equal(told(&guard), 2);
    assert_int_equal(told(&guard), 0);
    make(".claude/sub/settings.json");
    assert_int_equal(told(&guard), 1);
    assert_int_equal(told(&guard), 0);
    snprintf(path, sizeof(path), "%s/.claude/sub/settings.json", root);
    assert_int_equal(truncate(path, 10), 0);
    make("bare/config");
    assert_int_equal(told(&guard), 2);
    assert_int_equal(told(&guard), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(told(&guard), 1);
    assert_int_equal(told(&guard), 0);
    make(".vscode/tasks.json"); /* by somebody else: it is protected in the jail */
    assert_int_equal(told(&guard), 0);
}

static void names_that_can_change_unseen_are_told_each_time(void **state)
{
    const struct folders folders = {*state, 1};
    OWNED(folder_guard_release) struct folder_guard guard = {.folders = &folders};
    struct jail_plan plan = {0};
    char path[96];
    assert_int_equal(folder_guard_open(&guard, &plan, NULL), 0);
    make(".claude/");
    make(".claude/settings.json");
    make(".envrc");
    snprintf(path, sizeof(path), "%s/.claude/settings.json", root);
    assert_int_equal(truncate(path, 10), 0);
    OWNED_FD int fd = open(path, O_RDWR | O_CLOEXEC);
    char *bytes = mmap(NULL, 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    fd_close(&fd);
    bytes[0] = '1';
    assert_int_equal(told(&guard), 2);
    bytes[0] = '2';
    assert_int_equal(told(&guard), 1);
    assert_int_equal(told(&guard), 1);
    assert_int_equal(munmap(bytes, 10), 0);
    assert_int_equal(told(&guard), 1); /* it could change after the last time */
    assert_int_equal(told(&guard), 0);
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
        TEST(names_of_hooks_count_each_time),
        TEST(names_of_parts_count_together),
        TEST(what_protected_names_above_lead_to_is_protected),
        TEST(own_directory_that_cannot_be_read_is_refused),
        TEST(folder_that_was_replaced_is_refused),
        TEST(name_that_was_away_is_told),
        TEST(names_that_appear_or_are_replaced_are_told),
        TEST(what_changes_in_a_name_that_appeared_is_told),
        TEST(names_that_can_change_unseen_are_told_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
