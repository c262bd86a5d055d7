#include "sandbox/base/owned.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct run_limits limits = {.memory_bytes = 1, .processes = 2, .millicpus = 3};

/*
 * A directory without controllers stands in for the server's. As the kernel's it lets a cgroup go
 * in which nothing lives, and no other: here, one with a file in it.
 */
static int open_parent(void **state)
{
    static struct cgroup_parent parent;
    char path[] = "/tmp/code-sandbox-test-XXXXXX";
    parent = CGROUP_PARENT_NONE;
    assert_non_null(mkdtemp(path));
    assert_true(strlen(path) < sizeof(parent.subtree.name));
    snprintf(parent.subtree.name, sizeof(parent.subtree.name), "%s", path);
    parent.subtree.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(parent.subtree.fd >= 0);
    *state = &parent;
    return 0;
}

static int close_parent(void **state)
{
    struct cgroup_parent *parent = *state;
    cgroup_remove(&parent->spare);
    parent->runs_made = 0; /* none is to be made ahead */
    cgroup_tidy(parent);
    fd_close(&parent->subtree.fd);
    return rmdir(parent->subtree.name); /* nothing was left in it */
}

static struct cgroup make(struct cgroup_parent *parent)
{
    struct cgroup cgroup = CGROUP_EMPTY;
    assert_int_equal(cgroup_make(parent, &limits, &cgroup, NULL), 0);
    return cgroup;
}

static bool is_there(const struct cgroup_parent *parent, uint64_t number)
{
    char name[32];
    snprintf(name, sizeof(name), "run-%llu", (unsigned long long)number);
    return faccessat(parent->subtree.fd, name, F_OK, 0) == 0;
}

static void set_busy(const struct cgroup *cgroup)
{
    OWNED_FD int fd = openat(cgroup->fd, "process", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
}

static void tidy_and_stop(struct loop_timer *timer)
{
    struct cgroup_parent *parent = container_of(timer, struct cgroup_parent, tidy);
    cgroup_tidy(parent);
    loop_stop(parent->loop);
}

static void the_one_made_ahead_is_taken(void **state)
{
    struct cgroup_parent *parent = *state;
    struct cgroup first = make(parent);
    cgroup_tidy(parent);
    uint64_t number = parent->spare.number;
    struct cgroup cgroup = make(parent);
    assert_int_equal(cgroup.number, number);
    assert_int_equal(parent->spare.fd, -1);
    struct cgroup other = make(parent);
    assert_true(other.number != number);
    cgroup_remove(&first);
    cgroup_remove(&cgroup);
    cgroup_remove(&other);
}

static void none_is_made_ahead_before_the_first_run(void **state)
{
    struct cgroup_parent *parent = *state;
    cgroup_tidy(parent);
    assert_int_equal(parent->spare.fd, -1);
    assert_false(is_there(parent, 1));
}

static void one_with_other_limits_is_not_taken(void **state)
{
    struct cgroup_parent *parent = *state;
    struct run_limits others[] = {limits, limits, limits};
    others[0].memory_bytes++;
    others[1].processes++;
    others[2].millicpus++;
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        struct cgroup before = CGROUP_EMPTY;
        assert_int_equal(cgroup_make(parent, &others[i], &before, NULL), 0);
        cgroup_tidy(parent);
        uint64_t number = parent->spare.number;
        struct cgroup cgroup = make(parent);
        assert_true(cgroup.number != number);
        cgroup_remove(&before);
        cgroup_remove(&cgroup);
        cgroup_tidy(parent);
        assert_false(is_there(parent, number));
    }
}

static void one_that_somebody_has_removed_is_not_taken(void **state)
{
    struct cgroup_parent *parent = *state;
    struct cgroup first = make(parent);
    cgroup_remove(&first);
    cgroup_tidy(parent);
    assert_int_equal(unlinkat(parent->subtree.fd, "run-2", AT_REMOVEDIR), 0);
    struct cgroup cgroup = make(parent);
    assert_true(is_there(parent, cgroup.number));
    cgroup_remove(&cgroup);
}

static void one_that_is_busy_is_removed_later(void **state)
{
    struct cgroup_parent *parent = *state;
    struct cgroup busy = make(parent);
    uint64_t number = busy.number;
    OWNED_FD int fd = fcntl(busy.fd, F_DUPFD_CLOEXEC, 0);
    set_busy(&busy);
    cgroup_remove(&busy);
    cgroup_tidy(parent);
    assert_true(is_there(parent, number));
    assert_int_equal(unlinkat(fd, "process", 0), 0);
    cgroup_tidy(parent);
    assert_false(is_there(parent, number));
}

static void ended_ones_do_not_pile_up_while_others_run(void **state)
{
    struct cgroup_parent *parent = *state;
    for (uint64_t number = 1; number <= 3 * CGROUPS_LEFT_MAX; number++) {
        struct cgroup cgroup = make(parent);
        assert_int_equal(cgroup.number, number);
        cgroup_remove(&cgroup);
        assert_true(number <= CGROUPS_LEFT_MAX || !is_there(parent, number - CGROUPS_LEFT_MAX));
    }
}

static void one_is_removed_from_the_loop(void **state)
{
    struct cgroup_parent *parent = *state;
    struct loop loop;
    assert_int_equal(loop_open(&loop), 0);
    parent->loop = &loop;
    parent->tidy.fire = tidy_and_stop;
    struct cgroup cgroup = make(parent);
    uint64_t number = cgroup.number;
    cgroup_remove(&cgroup);
    assert_int_equal(loop_run(&loop), 0);
    assert_false(is_there(parent, number));
    parent->loop = NULL;
    loop_close(&loop);
}

/* Else it would be made and removed for ever. */
static void one_that_cannot_be_made_is_not_tried_again(void **state)
{
    struct cgroup_parent *parent = *state;
    struct loop loop;
    struct cgroup cgroup = CGROUP_EMPTY;
    assert_int_equal(loop_open(&loop), 0);
    parent->loop = &loop;
    parent->tidy.fire = tidy_and_stop;
    parent->subtree.controllers = CONTROLLER_MEMORY; /* without a file to set it by */
    assert_int_equal(cgroup_make(parent, &limits, &cgroup, NULL), -ENOENT);
    assert_false(is_there(parent, 1));
    cgroup_tidy(parent);
    assert_int_equal(parent->spare.fd, -1);
    assert_false(is_there(parent, 2));
    assert_false(parent->tidy.armed);
    parent->loop = NULL;
    loop_close(&loop);
}

/* All that its run has yet to learn, that memory ran out among it, would go with it. */
static void one_of_a_run_whose_end_was_not_seen_yet_stays(void **state)
{
    struct cgroup_parent *parent = *state;
    struct cgroup dead = make(parent);
    struct cgroup other = make(parent);
    cgroup_remove(&other);
    cgroup_tidy(parent);
    assert_true(is_there(parent, dead.number));
    cgroup_remove(&dead);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_parent, close_parent)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_one_made_ahead_is_taken),
        TEST(none_is_made_ahead_before_the_first_run),
        TEST(one_with_other_limits_is_not_taken),
        TEST(one_that_somebody_has_removed_is_not_taken),
        TEST(one_that_is_busy_is_removed_later),
        TEST(ended_ones_do_not_pile_up_while_others_run),
        TEST(one_is_removed_from_the_loop),
        TEST(one_that_cannot_be_made_is_not_tried_again),
        TEST(one_of_a_run_whose_end_was_not_seen_yet_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
