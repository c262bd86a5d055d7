#include "sandbox/filter_dispatch.h"

#include "sandbox/base/owned.h"
#include "seccomp-profiles/build-profile.h"
#include "seccomp-profiles/default-profile.h"
#include "tests/support/filter-verdict.h"

#include <errno.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NUMBERS 700 /* more than there are system calls */
#define DRAWS 40    /* of arguments, for each number */
#define X32_BIT 0x40000000u

struct pair {
    struct filter longer, shorter;
};

static void pair_release(struct pair *pair)
{
    filter_release(&pair->longer);
    filter_release(&pair->shorter);
}

static struct filter copy_of(const struct filter *filter)
{
    struct filter copy = {calloc(filter->length, sizeof(*copy.code)), filter->length};
    assert_non_null(copy.code);
    memcpy(copy.code, filter->code, filter->length * sizeof(*copy.code));
    return copy;
}

/* Takes the filter over. */
static struct pair shortened(struct filter filter)
{
    struct pair pair = {filter, copy_of(&filter)};
    assert_int_equal(filter_shorten(&pair.shorter), 0);
    return pair;
}

static struct pair shortened_profile(const char *json, size_t length)
{
    struct filter filter = {0};
    struct fault fault = {""};
    if (filter_translate(json, length, NULL, &filter, &fault) < 0)
        fail_msg("%s", fault.text);
    return shortened(filter);
}

/* One of the values that the program compares something with, or a neighbour, with or without high bits. */
static uint64_t draw_argument(const struct filter *filter, unsigned *seed)
{
    uint64_t value = filter->code[(unsigned)rand_r(seed) % filter->length].k;
    if (rand_r(seed) % 4 == 0)
        value += (uint64_t)(rand_r(seed) % 3) - 1;
    if (rand_r(seed) % 8 == 0)
        value |= UINT64_C(1) << (32 + rand_r(seed) % 32);
    return rand_r(seed) % 8 == 0 ? (uint64_t)rand_r(seed) : value;
}

static void compare_calls(const struct pair *pair, uint32_t architecture, uint32_t number)
{
    unsigned seed = number;
    for (int draw = 0; draw < DRAWS; draw++) {
        struct seccomp_data call = {.nr = (int)number, .arch = architecture};
        for (size_t i = 0; i < ARRAY_LENGTH(call.args); i++)
            call.args[i] = draw_argument(&pair->longer, &seed);
        uint32_t expected = filter_verdict(&pair->longer, &call);
        uint32_t got = filter_verdict(&pair->shorter, &call);
        if (got != expected)
            fail_msg("call %u(%#llx, %#llx, %#llx): verdict %#x instead of %#x", number,
                     (unsigned long long)call.args[0], (unsigned long long)call.args[1],
                     (unsigned long long)call.args[2], got, expected);
    }
}

static void compare(const struct pair *pair)
{
    for (uint32_t number = 0; number < NUMBERS; number++) {
        compare_calls(pair, OWN_ARCHITECTURE, number);
        compare_calls(pair, OWN_ARCHITECTURE, X32_BIT + number);
        compare_calls(pair, OWN_ARCHITECTURE, UINT32_MAX - number);
        compare_calls(pair, OTHER_ARCHITECTURE, number);
        compare_calls(pair, number, number);
    }
    for (size_t at = 0; at < pair->longer.length; at++)
        for (uint32_t change = 0; change < 3; change++)
            compare_calls(pair, OWN_ARCHITECTURE, pair->longer.code[at].k + change - 1);
}

/* In a process of its own, which then can do nothing but be killed. */
static void assert_the_kernel_takes(const struct filter *filter)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct sock_fprog program = {filter->length, filter->code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
            _exit(1);
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
        syscall(SYS_exit_group, errno);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void the_profiles_say_the_same_in_fewer_words(void **state)
{
    (void)state;
    const struct {
        const char *json;
        size_t length;
    } profiles[] = {
        {default_profile_json, sizeof(default_profile_json)},
        {build_profile_json, sizeof(build_profile_json)},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(profiles); i++) {
        OWNED(pair_release)
        struct pair pair = shortened_profile(profiles[i].json, profiles[i].length);
        assert_in_range(pair.shorter.length, 100, pair.longer.length * 6 / 10);
        compare(&pair);
        assert_the_kernel_takes(&pair.shorter);
    }
}

static scmp_filter_ctx new_context(void)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    assert_non_null(context);
    assert_int_equal(seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
    assert_int_equal(seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2), 0);
    assert_int_equal(seccomp_rule_add(context, SCMP_ACT_ALLOW, SYS_exit_group, 0), 0);
    return context;
}

/* What libseccomp makes of it, which is released. */
static struct filter exported(scmp_filter_ctx context)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(seccomp_export_bpf(context, fileno(file)), 0);
    seccomp_release(context);
    long size = lseek(fileno(file), 0, SEEK_CUR);
    assert_true(size > 0);
    struct filter filter = {malloc((size_t)size),
                            (unsigned short)((size_t)size / sizeof(*filter.code))};
    assert_non_null(filter.code);
    assert_int_equal(pread(fileno(file), filter.code, (size_t)size, 0), size);
    fclose(file);
    return filter;
}

/* Longer than a conditional jump leads, in the tree and in what looks at arguments. */
static void a_long_program_says_the_same(void **state)
{
    (void)state;
    scmp_filter_ctx context = new_context();
    for (int number = 0; number < 300; number++) {
        if (number == SYS_exit_group)
            continue;
        bool looks = number % 3 == 0; /* at an argument; the others are answered alike */
        uint32_t action = looks ? SCMP_ACT_ERRNO(100 + (unsigned)number) : SCMP_ACT_ALLOW;
        struct scmp_arg_cmp argument = SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)number);
        assert_int_equal(seccomp_rule_add_array(context, action, number, looks, &argument), 0);
    }
    for (int value = 0; value < 700; value += 2)
        assert_int_equal(seccomp_rule_add(context, SCMP_ACT_ALLOW, 400, 1,
                                          SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)value)),
                         0);
    OWNED(pair_release) struct pair pair = shortened(exported(context));
    assert_true(pair.shorter.length > 1000 && pair.shorter.length < pair.longer.length);
    compare(&pair);
    assert_the_kernel_takes(&pair.shorter);
}

static void another_shape_is_left_as_it_is(void **state)
{
    (void)state;
    scmp_filter_ctx context = new_context();
    assert_int_equal(seccomp_arch_add(context, OTHER_ARCHITECTURE == AUDIT_ARCH_I386
                                                   ? SCMP_ARCH_X86
                                                   : SCMP_ARCH_ARM),
                     0);
    OWNED(pair_release) struct pair two = shortened(exported(context));
    const struct sock_filter number = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_filter codes[][8] = {
        {allow, allow, allow, allow, allow, allow, allow, allow},
        {number, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 5), number, number,
         number, number, number, allow},
        {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 5), number,
         BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 1, 0), allow, BPF_STMT(BPF_RET | BPF_K, 0), allow,
         allow},
        {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 5),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 1), allow,
         BPF_STMT(BPF_RET | BPF_K, 0), allow, allow, allow},
    };
    compare(&two);
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
        struct sock_filter code[ARRAY_LENGTH(codes[i])];
        memcpy(code, codes[i], sizeof(code));
        struct filter filter = {code, ARRAY_LENGTH(code)};
        assert_int_equal(filter_shorten(&filter), 0);
        assert_int_equal(filter.length, ARRAY_LENGTH(code));
        assert_memory_equal(code, codes[i], sizeof(code));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_profiles_say_the_same_in_fewer_words),
        cmocka_unit_test(a_long_program_says_the_same),
        cmocka_unit_test(another_shape_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
