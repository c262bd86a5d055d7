#include "sandbox/base/owned.h"
#include "sandbox/jail/plan_pack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* Two of each array and list, of which the second one has other texts. */
static const struct plan_scratch scratch[] = {{"work", "/work", 0755, true},
                                              {"shm", "/dev/shm", 01777, false}};
static const struct plan_device devices[] = {{"/dev/null", "null"}, {"/dev/zero", "zero"}};
static const struct plan_link dev_links[] = {{"fd", "/proc/self/fd"}, {"stdin", "/proc"}};
static const struct plan_user_limit user_limits[] = {{"sys/user/a", "0"}, {"sys/user/b", "1"}};
static const char *const proc_copies[] = {"stat", "uptime", NULL};
static const char *const masks[] = {"keys", "fs/", NULL};
static const struct plan_shown shown[] = {{"/a", "/b"}, {"/c", "/d"}};
static const struct plan_folder folders[] = {{.path = "/a", .place = "/b"},
                                             {.path = "/c", .place = "/d"}};
static const struct plan_folder_part folder_parts[] = {{.path = "a"}, {.path = "b"}};
static const struct plan_link home_links[] = {{"a", "b"}, {"c", "d"}};
static const struct plan_file home_files[] = {{"certificates", "a\0b", 3}, {"other", "c", 1}};
static const struct plan_rlimit rlimits[] = {{RLIMIT_NOFILE, 7, 7}, {RLIMIT_CORE, 1, 1}};
static const struct plan_path_rights path_rights[] = {{"/", RIGHTS_READ}, {"/x", RIGHTS_WRITE}};
static const struct sock_filter filter[] = {{6, 0, 0, 0x7fff0000}, {6, 0, 0, 0}};
static const struct sock_filter joined_filter[] = {{6, 0, 0, 0x50001}};
static char *argv[] = {(char *)"a", (char *)"b", NULL};
static char *programs[] = {(char *)"/a", (char *)"/b", NULL};
static char *environment[] = {(char *)"A=1", (char *)"B=2", NULL};

/* Every member has a value, each text one of its own. */
static struct jail_plan whole_plan(void)
{
    struct jail_plan plan;
    memset(&plan, 0, sizeof(plan));
#define DESCRIPTOR(name) plan.name = 5;
#define TEXT(name) plan.name = #name;
#define LIST(type, name) plan.name = name;
#define ARRAY(tag, name, count)                                                                    \
    plan.name = name;                                                                              \
    plan.count = ARRAY_LENGTH(name);
#include "sandbox/jail/child/jail_plan.def"
    return plan;
}

static void pack(const struct jail_plan *plan, uintptr_t address, struct buffer *bytes)
{
    *bytes = BUFFER(PLAN_PACK_MAX);
    assert_int_equal(plan_pack(plan, address, bytes), 0);
}

static bool have_same_key(const struct jail_plan *one, const struct jail_plan *other)
{
    OWNED(buffer_release) struct buffer first = BUFFER(PLAN_PACK_MAX);
    OWNED(buffer_release) struct buffer second = BUFFER(PLAN_PACK_MAX);
    assert_int_equal(plan_pack_key(one, &first), 0);
    assert_int_equal(plan_pack_key(other, &second), 0);
    return first.length == second.length && memcmp(first.data, second.data, second.length) == 0;
}

static void a_plan_is_whole_where_it_was_packed_for(void **state)
{
    (void)state;
    const struct jail_plan plan = whole_plan();
    void *place =
        mmap(NULL, PLAN_PACK_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(place, MAP_FAILED);
    OWNED(buffer_release) struct buffer bytes = {0}, again = {0};
    pack(&plan, (uintptr_t)place, &bytes);
    size_t length = bytes.length;
    memcpy(place, bytes.data, length);
    struct jail_plan *copy = place;
    /* Nothing points elsewhere, and the copy of the copy has all that the plan has. */
#define IS_INSIDE(pointer) assert_in_range((uintptr_t)(pointer) - (uintptr_t)place, 1, length - 1)
#define TEXT(name) IS_INSIDE(copy->name);
#define LIST(type, name)                                                                           \
    IS_INSIDE(copy->name);                                                                         \
    IS_INSIDE(copy->name[1]);
#define ARRAY(tag, name, count) IS_INSIDE(copy->name);
#define OWN(type, name) assert_memory_equal(&copy->name, &(type){0}, sizeof(copy->name));
#include "sandbox/jail/child/jail_plan.def"
    IS_INSIDE(copy->scratch[1].target);
    IS_INSIDE(copy->folders[1].place);
    pack(copy, (uintptr_t)place, &again);
    assert_int_equal(again.length, length);
    assert_memory_equal(again.data, place, length);
    assert_string_equal(copy->scratch[1].target, "/dev/shm");
    assert_memory_equal(copy->home_files[0].bytes, "a\0b", 3);
    assert_string_equal(copy->masks[1], "fs/");
    assert_null(copy->masks[2]);
    assert_int_equal(copy->rlimits[0].limit, 7);
    assert_memory_equal(copy->filter, filter, sizeof(filter));
    assert_memory_equal(copy->joined_filter, joined_filter, sizeof(joined_filter));
    munmap(place, PLAN_PACK_MAX);
}

static void every_member_makes_another_key(void **state)
{
    (void)state;
    const struct jail_plan plan = whole_plan();
    struct jail_plan other;
#define IS_ANOTHER(change)                                                                         \
    other = plan;                                                                                  \
    change;                                                                                        \
    if (have_same_key(&plan, &other))                                                              \
        fail_msg("%s", #change);
#define VALUE(type, name) IS_ANOTHER(other.name = (type)1)
#define TEXT(name) IS_ANOTHER(other.name = "another") IS_ANOTHER(other.name = NULL)
#define LIST(type, name) IS_ANOTHER(other.name++) IS_ANOTHER(other.name = NULL)
#define ARRAY(tag, name, count) IS_ANOTHER(other.count--) IS_ANOTHER((other.name++, other.count--))
#include "sandbox/jail/child/jail_plan.def"
}

static void what_belongs_to_a_run_makes_no_other_key(void **state)
{
    (void)state;
    const struct jail_plan plan = whole_plan();
    struct jail_plan other = plan;
#define DESCRIPTOR(name) other.name = 9;
#define OWN(type, name) memset(&other.name, 1, sizeof(other.name));
#include "sandbox/jail/child/jail_plan.def"
    assert_true(have_same_key(&plan, &other));
    char name[] = "hostname"; /* at another place */
    other.hostname = name;
    assert_true(have_same_key(&plan, &other));
}

static void a_plan_that_has_no_room_is_refused(void **state)
{
    (void)state;
    const struct jail_plan plan = whole_plan();
    for (size_t size = 0; size < sizeof(plan) + 100; size += 50) {
        OWNED(buffer_release) struct buffer bytes = BUFFER(size);
        assert_int_equal(plan_pack(&plan, 4096, &bytes), -ENOBUFS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_whole_where_it_was_packed_for),
        cmocka_unit_test(every_member_makes_another_key),
        cmocka_unit_test(what_belongs_to_a_run_makes_no_other_key),
        cmocka_unit_test(a_plan_that_has_no_room_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
