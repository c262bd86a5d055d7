#include "interpreter/settings/mount_settings.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* What the option means; path NULL: refused. */
static const struct {
    const char *text;
    const char *path;
    enum folder_mode mode;
    const char *place; /* NULL: the same as the path */
} texts[] = {
    {"/src", "/src", FOLDER_READ_ONLY, NULL},
    {"/src:ro", "/src", FOLDER_READ_ONLY, NULL},
    {"/src:overlay", "/src", FOLDER_OVERLAY, NULL},
    {"/src:overlay@/mnt/src", "/src", FOLDER_OVERLAY, "/mnt/src"},
    {"/src@/mnt", "/src", FOLDER_READ_ONLY, "/mnt"},
    {"relative/path:ro", "relative/path", FOLDER_READ_ONLY, NULL},
    {"project:overlay", "project", FOLDER_OVERLAY, NULL},
    /* From the right: a part of the name stays one. */
    {"/a:b", "/a:b", FOLDER_READ_ONLY, NULL},
    {"/a:ro:overlay", "/a:ro", FOLDER_OVERLAY, NULL},
    {"/a:rox", "/a:rox", FOLDER_READ_ONLY, NULL},
    {"/me@home", "/me@home", FOLDER_READ_ONLY, NULL},
    {"/me@home:overlay", "/me@home", FOLDER_OVERLAY, NULL},
    {"/me@home:ro@/mnt", "/me@home", FOLDER_READ_ONLY, "/mnt"},
    {"/a@/b@/c", "/a@/b", FOLDER_READ_ONLY, "/c"},
    {"/a@/b:rox", "/a", FOLDER_READ_ONLY, "/b:rox"},
    {"/with space,comma\\\n:overlay", "/with space,comma\\\n", FOLDER_OVERLAY, NULL},
    {"", NULL, 0, NULL},
    {":ro", NULL, 0, NULL},
    {"/a@/b:ro", NULL, 0, NULL},
    {"/a:ro@/b:overlay", NULL, 0, NULL},
    {"@/mnt", NULL, 0, NULL},
    {":overlay@/mnt", NULL, 0, NULL},
};

static void option_is_read_from_the_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        OWNED(mounts_release) struct mounts mounts = {0};
        struct fault fault = {0};
        int r = mounts_add_text(&mounts, "--mount", texts[i].text, &fault);
        if (texts[i].path == NULL) {
            assert_int_equal(r, -EINVAL);
            assert_int_equal(mounts.count, 0);
            assert_non_null(strstr(fault.text, "FOLDER:MODE"));
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(mounts.list[0].path, texts[i].path);
        assert_int_equal(mounts.list[0].mode, texts[i].mode);
        assert_int_equal(mounts.list[0].place == NULL, texts[i].place == NULL);
        if (texts[i].place != NULL)
            assert_string_equal(mounts.list[0].place, texts[i].place);
    }
}

static void number_of_folders_is_bounded(void **state)
{
    (void)state;
    OWNED(mounts_release) struct mounts mounts = {0};
    for (size_t i = 0; i < FOLDERS_MAX; i++)
        assert_int_equal(mounts_add_text(&mounts, "--mount", "/a", NULL), 0);
    assert_int_equal(mounts_add_text(&mounts, "--mount", "/a", NULL), -EINVAL);
}

/* A home with a project, a store and a configuration, and a folder outside. */
struct tree {
    char root[64];
    char home[128], store[192], configuration[192], copies[192], outside[128];
};

static void join(char *path, size_t size, const char *directory, const char *name)
{
    assert_true((size_t)snprintf(path, size, "%s/%s", directory, name) < size);
}

static void make(const char *directory, const char *name)
{
    char path[PATH_MAX];
    join(path, sizeof(path), directory, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static int tree_make(void **state)
{
    static struct tree tree;
    strcpy(tree.root, "/tmp/test-mounts-XXXXXX");
    if (mkdtemp(tree.root) == NULL)
        return -1;
    join(tree.home, sizeof(tree.home), tree.root, "home");
    join(tree.outside, sizeof(tree.outside), tree.root, "outside");
    join(tree.store, sizeof(tree.store), tree.home, "data/store");
    join(tree.configuration, sizeof(tree.configuration), tree.home, "settings/own");
    join(tree.copies, sizeof(tree.copies), tree.home, "state/own");
    static const char *const names[] = {
        "home",       "outside",         "outside/work",      "home/project",  "home/project/a",
        "home/data",  "home/data/store", "home/data/store/x", "home/settings", "home/settings/own",
        "home/state", "home/state/own",  "home/state/own/x"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        make(tree.root, names[i]);
    char path[PATH_MAX];
    join(path, sizeof(path), tree.home, "link");
    assert_int_equal(symlink("../home/data/store", path), 0);
    join(path, sizeof(path), tree.home, "project/file");
    fclose(fopen(path, "we"));
    unsetenv("CLAUDE_PROJECT_DIR");
    *state = &tree;
    return 0;
}

static int tree_remove(void **state)
{
    struct tree *tree = *state;
    char command[128];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof(command), "rm -r %s", tree->root);
    return system(command);
}

static int open_one(const struct tree *tree, const char *text, const char *under,
                    struct folders *folders, struct fault *fault)
{
    OWNED(mounts_release) struct mounts mounts = {0};
    int r = mounts_add_text(&mounts, "--mount", text, fault);
    const struct mount_fence fence = {tree->home, tree->store, tree->configuration,
                                      NULL,       under,       tree->copies};
    return r < 0 ? r : mounts_open(&mounts, &fence, folders, fault);
}

static void assert_refused(const struct tree *tree, const char *text, const char *reason)
{
    OWNED(folders_release) struct folders folders = {0};
    struct fault fault = {0};
    assert_true(open_one(tree, text, NULL, &folders, &fault) < 0);
    assert_int_equal(folders.count, 0);
    assert_memory_equal(fault.text, "--mount: ", strlen("--mount: "));
    if (strstr(fault.text, reason) == NULL)
        fail_msg("%s: %s", text, fault.text);
}

static void folders_of_the_system_are_refused(void **state)
{
    static const char *const names[] = {"/usr",       "/etc",    "/etc/..", "/proc", "/sys", "/dev",
                                        "/proc/self", "/dev/fd", "/tmp",    "/var",  "/run"};
    assert_refused(*state, "/", "whole file system");
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        assert_refused(*state, names[i], "cannot be mounted: it ");
}

static void refusals_of_own_folders_name_the_reason(void **state)
{
    const struct tree *tree = *state;
    static const struct {
        const char *name, *reason;
    } names[] = {
        {"home", "it is your home directory"},
        {"", "your home directory is in it"},
        {"home/data", "images of this server"},
        {"home/data/store", "images of this server"},
        {"home/data/store/x", "images of this server"},
        {"home/link", "images of this server"},
        {"home/project/../data", "images of this server"},
        {"home/state", "copies of folders of other runs"},
        {"home/state/own/x", "copies of folders of other runs"},
        {"home/settings", "configuration of this server"},
        {"home/settings/own", "configuration of this server"},
        {"home/project/file", "is not a folder"},
        {"home/absent", "there is no folder"},
        {"home/project:rx", "a mode is "},
        {"home/project@/", "root of the sandbox"},
        {"home/project@/work", "/work of its own"},
        {"home/project@/home", "/home/sandbox of its own"},
        {"home/project@/usr/lib/x", "belongs to the system"},
        {"home/project@/proc/x", "belongs to the system"},
        {"home/project@/a/../b", "absolute path without"},
        {"home/project@/a/", "absolute path without"},
        {"home/project@//a", "absolute path without"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char text[PATH_MAX];
        join(text, sizeof(text), tree->root, names[i].name);
        assert_refused(tree, text, names[i].reason);
    }
}

static void configuration_that_was_read_is_out_of_reach(void **state)
{
    const struct tree *tree = *state;
    OWNED(mounts_release) struct mounts mounts = {0};
    char text[PATH_MAX];
    char file[PATH_MAX];
    join(text, sizeof(text), tree->home, "project");
    join(file, sizeof(file), tree->home, "project/file");
    assert_int_equal(mounts_add_text(&mounts, "--mount", text, NULL), 0);
    const struct mount_fence fence = {.configuration_read = file};
    OWNED(folders_release) struct folders folders = {0};
    assert_int_equal(mounts_open(&mounts, &fence, &folders, NULL), -EPERM);
}

static void links_are_followed_and_the_folder_is_held(void **state)
{
    const struct tree *tree = *state;
    char text[PATH_MAX];
    char link[PATH_MAX];
    join(link, sizeof(link), tree->outside, "link");
    assert_int_equal(symlink("../home/project", link), 0);
    join(text, sizeof(text), tree->outside, "link/a/..:overlay@/mnt/x");
    OWNED(folders_release) struct folders folders = {0};
    assert_int_equal(open_one(tree, text, NULL, &folders, NULL), 0);
    const struct folder *folder = &folders.list[0];
    join(text, sizeof(text), tree->home, "project");
    assert_string_equal(folder->path, text);
    assert_string_equal(folder->place, "/mnt/x");
    assert_true(folder->place_is_given);
    assert_int_equal(folder->mode, FOLDER_OVERLAY);
    struct stat status;
    assert_int_equal(fstat(folder->fd, &status), 0);
    assert_int_equal(status.st_ino, folder->inode);
}

static void places_must_not_overlap(void **state)
{
    const struct tree *tree = *state;
    static const char *const second[] = {"", "@/mnt/a", "@/mnt/a/b", "@/mnt"};
    char first[PATH_MAX];
    join(first, sizeof(first), tree->home, "project@/mnt/a");
    for (size_t i = 0; i < ARRAY_LENGTH(second); i++) {
        OWNED(mounts_release) struct mounts mounts = {0};
        OWNED(folders_release) struct folders folders = {0};
        struct fault fault = {0};
        char text[PATH_MAX];
        join(text, sizeof(text), tree->outside, "work");
        strcat(text, second[i]);
        assert_int_equal(mounts_add_text(&mounts, "--mount", first, NULL), 0);
        assert_int_equal(mounts_add_text(&mounts, "--mount", text, NULL), 0);
        int r = mounts_open(&mounts, &(struct mount_fence){0}, &folders, &fault);
        assert_int_equal(r, i == 0 ? 0 : -EINVAL);
        assert_int_equal(folders.count, i == 0 ? 2 : 0);
        if (i > 0)
            assert_non_null(strstr(fault.text, "overlap"));
    }
}

static void project_is_the_folder_of_the_client_inside_the_fence(void **state)
{
    const struct tree *tree = *state;
    char path[PATH_MAX];
    join(path, sizeof(path), tree->home, "project");
    assert_int_equal(chdir(path), 0);
    OWNED(folders_release) struct folders folders = {0};
    assert_int_equal(open_one(tree, "project", NULL, &folders, NULL), 0);
    assert_string_equal(folders.list[0].path, path);
    folders_release(&folders);

    join(path, sizeof(path), tree->home, "project/a");
    setenv("CLAUDE_PROJECT_DIR", path, 1);
    assert_int_equal(open_one(tree, "project:overlay", NULL, &folders, NULL), 0);
    assert_string_equal(folders.list[0].path, path);
    folders_release(&folders);

    join(path, sizeof(path), tree->outside, "work");
    setenv("CLAUDE_PROJECT_DIR", path, 1);
    assert_refused(tree, "project",
                   "outside of your home directory; allow folders below one with "
                   "--mount-under");
    assert_int_equal(open_one(tree, "project", tree->outside, &folders, NULL), 0);
    setenv("CLAUDE_PROJECT_DIR", tree->home, 1);
    assert_refused(tree, "project", "it is your home directory");
    unsetenv("CLAUDE_PROJECT_DIR");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option_is_read_from_the_right),
        cmocka_unit_test(number_of_folders_is_bounded),
        TEST(folders_of_the_system_are_refused),
        TEST(refusals_of_own_folders_name_the_reason),
        TEST(configuration_that_was_read_is_out_of_reach),
        TEST(links_are_followed_and_the_folder_is_held),
        TEST(places_must_not_overlap),
        TEST(project_is_the_folder_of_the_client_inside_the_fence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
