#include "sandbox/roots/run_root.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/test-run-root-XXXXXX";
static char image[PATH_MAX];
static char roots[PATH_MAX];

/* An image of one program, which is this one. */
static int setup(void **state)
{
    strcpy(top + sizeof(top) - 7, "XXXXXX");
    *state = mkdtemp(top);
    if (*state == NULL || chdir(top) < 0 || mkdir("image", 0755) < 0 ||
        mkdir("image/bin", 0755) < 0 || mkdir("image/home", 0755) < 0)
        return -1;
    snprintf(image, sizeof(image), "%s/image", top);
    snprintf(roots, sizeof(roots), "%s/store/roots", top);
    OWNED_FD int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    OWNED_FD int to = open("image/bin/program", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    char bytes[8192];
    for (ssize_t length; (length = read(from, bytes, sizeof(bytes))) > 0;)
        if (write(to, bytes, (size_t)length) != length)
            return -1;
    return 0;
}

static int teardown(void **state)
{
    return chdir("/") < 0 ? -1 : tree_remove(AT_FDCWD, *state);
}

static struct jail_plan make_plan(void)
{
    static const struct plan_scratch scratch[] = {{"work", "/work", 0755, true},
                                                  {"home", "/home/sandbox", 0755, true}};
    static char name[] = "program";
    static char path[] = "/bin/program";
    static char *argv[] = {name, NULL};
    static char *const programs[] = {path, NULL};
    static char *const environment[] = {NULL};
    struct stat status;
    assert_int_equal(stat(image, &status), 0);
    return (struct jail_plan){
        .base = BASE_HOST,
        .root_path = image,
        .root_device = status.st_dev,
        .root_inode = status.st_ino,
        .scratch = scratch,
        .scratch_count = 2,
        .argv = argv,
        .programs = programs,
        .environment = environment,
        .work_directory = "/work",
        .home = "/home/sandbox",
    };
}

static struct run_root *take(struct run_root_store *store)
{
    struct jail_plan plan = make_plan();
    struct run_root *root = NULL;
    struct fault fault = {0};
    if (run_root_take(store, &plan, &root, &fault) < 0)
        fail_msg("%s", fault.text);
    assert_true(strncmp(plan.work_directory, root->path, strlen(root->path)) == 0);
    return root;
}

static void open_store(struct run_root_store *store)
{
    *store = RUN_ROOT_STORE_NONE;
    mkdir("store", 0700);
    assert_int_equal(run_root_store_open(store, roots, NULL), 0);
}

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static void root_is_used_again_and_is_empty(void **state)
{
    (void)state;
    OWNED(run_root_store_close) struct run_root_store store;
    char path[PATH_MAX];
    char file[PATH_MAX + 16];
    open_store(&store);
    struct run_root *root = take(&store);
    snprintf(path, sizeof(path), "%s", root->path);
    snprintf(file, sizeof(file), "%s/work/file", path);
    OWNED_FD int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    run_root_give_back(root);
    assert_false(is_there(file));
    root = take(&store);
    assert_string_equal(root->path, path);
    run_root_give_back(root);
}

static void two_at_once_have_their_own(void **state)
{
    (void)state;
    OWNED(run_root_store_close) struct run_root_store store;
    OWNED(run_root_store_close) struct run_root_store of_another_server;
    open_store(&store);
    open_store(&of_another_server);
    struct run_root *one = take(&store);
    struct run_root *other = take(&of_another_server);
    assert_string_not_equal(one->path, other->path);
    run_root_give_back(one);
    run_root_give_back(other);
}

/* One base makes devices and copies of /proc in it, the other relative links; and files are the user's who made them. */
static void root_is_that_of_a_base_and_a_user(void **state)
{
    (void)state;
    OWNED(run_root_store_close) struct run_root_store store;
    open_store(&store);
    struct run_root *root = take(&store);
    char name[PATH_MAX];
    char text[2 * PATH_MAX];
    unsigned base, uid, gid;
    snprintf(name, sizeof(name), "%.*s/image", (int)(strrchr(root->path, '/') - root->path),
             root->path);
    OWNED_FD int fd = open(name, O_RDWR | O_CLOEXEC);
    ssize_t length = read(fd, text, sizeof(text) - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_int_equal(sscanf(text, "%u %u %u ", &base, &uid, &gid), 3);
    assert_true(base == BASE_HOST && uid == geteuid() && gid == getegid());
    run_root_give_back(root);
    /* Such a directory of another base is not taken. */
    struct jail_plan plan = make_plan();
    struct fault fault = {0};
    text[0] = (char)('0' + BASE_CHROOT);
    root = NULL;
    assert_int_equal(pwrite(fd, text, (size_t)length, 0), length);
    assert_true(run_root_take(&store, &plan, &root, &fault) < 0);
    assert_null(root);
}

static void roots_go_after_their_image_unless_they_are_in_use(void **state)
{
    (void)state;
    OWNED(run_root_store_close) struct run_root_store store;
    OWNED(run_root_store_close) struct run_root_store later = RUN_ROOT_STORE_NONE;
    char used[PATH_MAX];
    char kept[PATH_MAX];
    open_store(&store);
    struct run_root *root = take(&store);
    struct run_root *second = take(&store);
    snprintf(used, sizeof(used), "%s", root->path);
    snprintf(kept, sizeof(kept), "%s", second->path);
    run_root_give_back(second);
    assert_int_equal(tree_remove(AT_FDCWD, "image"), 0);
    assert_int_equal(run_root_store_open(&later, roots, NULL), 0);
    assert_true(is_there(used));
    assert_false(is_there(kept));
    run_root_give_back(root);
}

static void what_was_never_finished_goes(void **state)
{
    (void)state;
    OWNED(run_root_store_close) struct run_root_store store;
    OWNED(run_root_store_close) struct run_root_store later = RUN_ROOT_STORE_NONE;
    char unfinished[PATH_MAX + 32];
    open_store(&store);
    struct run_root *root = take(&store);
    snprintf(unfinished, sizeof(unfinished), "%.*s/new-0123",
             (int)(strrchr(root->path, '/') - root->path), root->path);
    assert_int_equal(mkdir(unfinished, 0700), 0);
    assert_int_equal(run_root_store_open(&later, roots, NULL), 0);
    assert_false(is_there(unfinished));
    assert_true(is_there(root->path));
    run_root_give_back(root);
}

static void image_that_is_damaged_is_tried_once(void **state)
{
    (void)state;
    OWNED(run_root_store_close) struct run_root_store store;
    open_store(&store);
    struct jail_plan plan = make_plan();
    struct run_root *root = NULL;
    struct fault fault = {0};
    assert_int_equal(tree_remove(AT_FDCWD, "image"), 0);
    assert_true(run_root_take(&store, &plan, &root, &fault) < 0);
    assert_non_null(strstr(fault.text, image));
    assert_null(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(root_is_used_again_and_is_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(two_at_once_have_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(root_is_that_of_a_base_and_a_user, setup, teardown),
        cmocka_unit_test_setup_teardown(roots_go_after_their_image_unless_they_are_in_use, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_was_never_finished_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(image_that_is_damaged_is_tried_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
