#include "sandbox/base/owned.h"
#include "sandbox/jail/child/fork_server.h"
#include "sandbox/jail/forks/fork_plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static const struct plan_scratch scratch[] = {{"work", "/work", 0755, true},
                                              {"shm", "/dev/shm", 01777, false}};
static const struct plan_link links[] = {{"fd", "/proc/self/fd"}};
static const struct plan_file files[] = {{"certificates", "a\0b", 3}};
static const char *const masks[] = {"keys", "fs/"};
static const struct plan_path_rights rights[] = {{"/", RIGHTS_READ}};
static const struct plan_rlimit rlimits[] = {{RLIMIT_NOFILE, 7, 7}};
static const struct sock_filter code[] = {{6, 0, 0, 0x7fff0000}};

static struct jail_plan plan_of_a_run(void)
{
    return (struct jail_plan){
        .kind = JAIL_RUN,
        .base = BASE_NAMESPACES,
        .control_fd = 1,
        .stdin_fd = -1,
        .hostname = "sandbox",
        .root_path = "/",
        .root_layers = "lowerdir=a",
        .scratch = scratch,
        .scratch_count = ARRAY_LENGTH(scratch),
        .dev_links = links,
        .dev_link_count = ARRAY_LENGTH(links),
        .home_files = files,
        .home_file_count = ARRAY_LENGTH(files),
        .masks = masks,
        .mask_count = ARRAY_LENGTH(masks),
        .path_rights = rights,
        .path_rights_count = ARRAY_LENGTH(rights),
        .rlimits = rlimits,
        .rlimit_count = ARRAY_LENGTH(rlimits),
        .filter = {.len = ARRAY_LENGTH(code), .filter = (struct sock_filter *)(uintptr_t)code},
        .code_name = "main.py",
    };
}

static void a_plan_is_whole_where_it_was_written_for(void **state)
{
    (void)state;
    const struct jail_plan plan = plan_of_a_run();
    void *place =
        mmap(NULL, FORK_PLAN_SIZE_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(place, MAP_FAILED);
    OWNED(buffer_release) struct buffer bytes = BUFFER(FORK_PLAN_SIZE_MAX);
    assert_int_equal(fork_plan_write(&plan, (uintptr_t)place, &bytes), 0);
    size_t length = bytes.length;
    memcpy(place, bytes.data, length);
    buffer_release(&bytes); /* nothing may point there */
    const struct jail_plan *copy = place;
    assert_true(copy->is_fork);
    assert_int_equal(copy->control_fd, 1);
    assert_int_equal(copy->stdin_fd, -1);
    assert_string_equal(copy->hostname, "sandbox");
    assert_string_equal(copy->code_name, "main.py");
    assert_null(copy->root_layers);
    assert_string_equal(copy->scratch[1].name, "shm");
    assert_string_equal(copy->scratch[1].target, "/dev/shm");
    assert_int_equal(copy->scratch[1].mode, 01777);
    assert_string_equal(copy->dev_links[0].target, "/proc/self/fd");
    assert_memory_equal(copy->home_files[0].bytes, "a\0b", 3);
    assert_string_equal(copy->masks[1], "fs/");
    assert_string_equal(copy->path_rights[0].path, "/");
    assert_int_equal(copy->rlimits[0].limit, 7);
    assert_memory_equal(copy->filter.filter, code, sizeof(code));
    assert_true((uintptr_t)copy->filter.filter - (uintptr_t)place < length);
    munmap(place, FORK_PLAN_SIZE_MAX);
}

static void a_plan_that_has_no_room_is_refused(void **state)
{
    (void)state;
    const struct jail_plan plan = plan_of_a_run();
    for (size_t size = 0; size < sizeof(plan) + 100; size += 50) {
        OWNED(buffer_release) struct buffer bytes = BUFFER(size);
        assert_int_equal(fork_plan_write(&plan, FORK_PLAN_ADDRESS, &bytes), -ENOBUFS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_whole_where_it_was_written_for),
        cmocka_unit_test(a_plan_that_has_no_room_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
