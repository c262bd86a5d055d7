#include "sandbox/base/tree.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DEPTH 200
#define PAIRS 20
#define TRIES 20

static char top[] = "/tmp/test-tree-XXXXXX";

static int setup(void **state)
{
    strcpy(top + sizeof(top) - 7, "XXXXXX");
    *state = mkdtemp(top);
    return *state == NULL || chdir(top) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    return chdir("/") < 0 ? -1 : tree_remove(AT_FDCWD, *state);
}

/* A descriptor of the deepest of directories in each other. */
static int make_deep(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = below;
    }
    assert_true(fd >= 0);
    return fd;
}

static ino_t number_of(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    return status.st_ino;
}

/* Whether ".." leads from a directory through another, for a process that is still there: chroot(2). */
static bool is_below(int fd, ino_t wanted)
{
    bool found = false;
    int at = dup(fd);
    for (ino_t before = 0; !found && number_of(at) != before;) {
        before = number_of(at);
        int above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(above >= 0);
        close(at);
        at = above;
        found = number_of(at) == wanted;
    }
    close(at);
    return found;
}

static void no_directory_leaves_a_root_in_the_tree(void **state)
{
    (void)state;
    assert_int_equal(mkdir("staging", 0700), 0);
    assert_int_equal(mkdir("staging/root", 0700), 0);
    OWNED_FD int root = open("staging/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    OWNED_FD int deepest = make_deep("staging/root");
    ino_t wanted = number_of(root);
    assert_true(is_below(deepest, wanted));
    assert_int_equal(tree_remove(AT_FDCWD, "staging"), 0);
    assert_int_equal(access("staging", F_OK), -1);
    assert_true(is_below(deepest, wanted));
}

static void names_of_directories_moved_up_may_be_there(void **state)
{
    (void)state;
    char path[4096] = "tree";
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 60; i++) {
        for (int number = 0; number < 3; number++) {
            char name[5000];
            snprintf(name, sizeof(name), "%s/.code-sandbox-removed-%d", path, number);
            assert_int_equal(mkdir(name, 0700), 0);
        }
        strcat(path, "/d");
        assert_int_equal(mkdir(path, 0700), 0);
    }
    OWNED_FD int deepest = make_deep(path);
    assert_int_equal(tree_remove(AT_FDCWD, "tree"), 0);
    assert_int_equal(access("tree", F_OK), -1);
}

static void make_pairs(int fd)
{
    char name[16];
    for (int i = 0; i < PAIRS; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        (void)!mkdirat(fd, name, 0);
        snprintf(name, sizeof(name), "l%d", i);
        (void)!symlinkat("../outside", fd, name);
    }
}

/* In another process: exchanges directories and links, as long as they are there. */
static void exchange_pairs(int fd)
{
    char directory[16], link[16];
    for (int i = 0;; i = (i + 1) % PAIRS) {
        snprintf(directory, sizeof(directory), "d%d", i);
        snprintf(link, sizeof(link), "l%d", i);
        for (int more = 0; more < 50 && directory_exchange(fd, directory, link) == 0; more++)
            ;
    }
}

static void no_link_in_the_place_of_a_directory_is_followed(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(mkdir("outside", 0755), 0);
    assert_int_equal(chmod("outside", 0755), 0);
    for (int i = 0; i < TRIES; i++) {
        assert_int_equal(mkdir("tree", 0755), 0);
        OWNED_FD int tree = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        make_pairs(tree);
        pid_t other = fork();
        if (other == 0)
            exchange_pairs(tree);
        usleep(1000);
        (void)tree_remove(AT_FDCWD, "tree");
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
        assert_int_equal(tree_remove(AT_FDCWD, "tree"), 0);
        assert_int_equal(stat("outside", &status), 0);
        assert_int_equal(status.st_mode & 0777, 0755);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_directory_leaves_a_root_in_the_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(names_of_directories_moved_up_may_be_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(no_link_in_the_place_of_a_directory_is_followed, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
