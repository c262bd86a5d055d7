#include "sandbox/jail/filter_dispatch.h"

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
#define DRAWS 5     /* of arguments, for each number */
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
    assert_int_equal(filter_dispatch_shorten(&pair.shorter), 0);
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

static bool is_condition(const struct sock_filter *op)
{
    return BPF_CLASS(op->code) == BPF_JMP && BPF_OP(op->code) != BPF_JA;
}

/* Where a call of that architecture and number comes to a verdict, or to the first look at an argument. */
static size_t place_of(const struct filter *filter, uint32_t architecture, uint32_t number)
{
    uint32_t a = 0;
    for (size_t at = 0; at < filter->length; at++) {
        const struct sock_filter *op = &filter->code[at];
        if (op->code == (BPF_LD | BPF_W | BPF_ABS) && op->k < 8)
            a = op->k == 0 ? number : architecture;
        else if (op->code == (BPF_JMP | BPF_JA))
            at += op->k;
        else if (op->code == (BPF_JMP | BPF_JEQ | BPF_K))
            at += a == op->k ? op->jt : op->jf;
        else if (op->code == (BPF_JMP | BPF_JGT | BPF_K))
            at += a > op->k ? op->jt : op->jf;
        else if (op->code == (BPF_JMP | BPF_JGE | BPF_K))
            at += a >= op->k ? op->jt : op->jf;
        else
            return at;
    }
    fail_msg("the filter ended without a verdict");
    return 0;
}

/* Loads a word, takes no bit of it, and compares that with 0. */
static bool is_idle_look(const struct filter *filter, size_t at)
{
    const struct sock_filter *op = &filter->code[at];
    return at + 3 < filter->length && op[0].code == (BPF_LD | BPF_W | BPF_ABS) &&
           op[1].code == (BPF_ALU | BPF_AND | BPF_K) && op[1].k == 0 &&
           op[2].code == (BPF_JMP | BPF_JEQ | BPF_K) && op[2].k == 0;
}

/*
 * Whether both do the same from there on, whatever the arguments: the same instructions one after the other,
 * on each way, but those that decide nothing. `seen` has a byte for each pair of places, not 0 where that has been found out.
 */
static bool is_same_from(const struct pair *pair, size_t a, size_t b, char *seen)
{
    for (;;) {
        const struct sock_filter *longer = &pair->longer.code[a];
        const struct sock_filter *shorter = &pair->shorter.code[b];
        if (longer->code == (BPF_JMP | BPF_JA)) {
            a += 1 + longer->k;
            continue;
        }
        if (is_idle_look(&pair->longer, a)) {
            a += 3 + longer[2].jt;
            continue;
        }
        if (shorter->code == (BPF_JMP | BPF_JA)) {
            b += 1 + shorter->k;
            continue;
        }
        if (seen[a * pair->shorter.length + b])
            return true;
        seen[a * pair->shorter.length + b] = 1;
        if (longer->code != shorter->code || longer->k != shorter->k)
            return false;
        if (longer->code == (BPF_RET | BPF_K))
            return true;
        if (is_condition(longer) &&
            !is_same_from(pair, a + 1 + longer->jt, b + 1 + shorter->jt, seen))
            return false;
        a += 1 + (is_condition(longer) ? longer->jf : 0);
        b += 1 + (is_condition(longer) ? shorter->jf : 0);
    }
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

static void compare_calls(const struct pair *pair, uint32_t architecture, uint32_t number,
                          char *seen)
{
    if (!is_same_from(pair, place_of(&pair->longer, architecture, number),
                      place_of(&pair->shorter, architecture, number), seen))
        fail_msg("call %u of architecture %#x is treated differently", number, architecture);
    unsigned seed = number;
    for (int draw = 0; draw < DRAWS; draw++) {
        struct seccomp_data call = {.nr = (int)number, .arch = architecture};
        for (size_t i = 0; i < ARRAY_LENGTH(call.args); i++)
            call.args[i] = draw_argument(&pair->longer, &seed);
        assert_int_equal(filter_verdict(&pair->shorter, &call),
                         filter_verdict(&pair->longer, &call));
    }
}

static void compare(const struct pair *pair)
{
    OWNED_MEMORY char *seen = calloc(pair->longer.length, pair->shorter.length);
    assert_non_null(seen);
    for (uint32_t number = 0; number < NUMBERS; number++) {
        compare_calls(pair, OWN_ARCHITECTURE, number, seen);
        compare_calls(pair, OWN_ARCHITECTURE, X32_BIT + number, seen);
        compare_calls(pair, OWN_ARCHITECTURE, UINT32_MAX - number, seen);
        compare_calls(pair, OTHER_ARCHITECTURE, number, seen);
        compare_calls(pair, number, number, seen);
    }
    for (size_t at = 0; at < pair->longer.length; at++)
        for (uint32_t change = 0; change < 3; change++)
            compare_calls(pair, OWN_ARCHITECTURE, pair->longer.code[at].k + change - 1, seen);
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
        long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
        syscall(SYS_exit_group, r == 0 ? 0 : 2);
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
        for (size_t at = 0; at < pair.shorter.length; at++)
            assert_false(is_idle_look(&pair.shorter, at));
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

/* Rules for the numbers up to 300: two of three look at an argument, each at its own, one does not. */
static void add_rules(scmp_filter_ctx context)
{
    static const enum scmp_compare operators[] = {SCMP_CMP_GT, SCMP_CMP_LE, SCMP_CMP_LT,
                                                  SCMP_CMP_MASKED_EQ, SCMP_CMP_LE};
    for (unsigned number = 0; number < 300; number++) {
        if (number == SYS_exit_group)
            continue;
        bool looks = number % 3 != 0;
        uint32_t action = looks ? SCMP_ACT_ERRNO(100 + number) : SCMP_ACT_KILL_PROCESS;
        struct scmp_arg_cmp argument = {.arg = number % 6,
                                        .op = operators[number % ARRAY_LENGTH(operators)],
                                        .datum_a = UINT64_C(0x100000001) * number,
                                        .datum_b = number & 1};
        assert_int_equal(seccomp_rule_add_array(context, action, (int)number, looks, &argument), 0);
    }
}

/* Longer than a conditional jump leads, in the tree and in what looks at arguments. */
static void check_long_program(int values)
{
    scmp_filter_ctx context = new_context();
    add_rules(context);
    for (int value = 0; value < values; value++)
        assert_int_equal(seccomp_rule_add(context, SCMP_ACT_ALLOW, 400, 1,
                                          SCMP_A0(SCMP_CMP_EQ, 2 * (scmp_datum_t)value)),
                         0);
    for (int number = 500; number < 650; number++)
        assert_int_equal(seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0), 0);
    OWNED(pair_release) struct pair pair = shortened(exported(context));
    assert_in_range(pair.shorter.length, 1000, pair.longer.length - 1);
    compare(&pair);
    assert_the_kernel_takes(&pair.shorter);
}

/* In many lengths, so that one of them has a jump that leads as far as can be. */
static void a_long_program_says_the_same(void **state)
{
    (void)state;
    for (int values = 340; values < 360; values++)
        check_long_program(values);
}

static void assert_is_left_alone(struct filter filter)
{
    OWNED(pair_release) struct pair pair = shortened(filter);
    assert_int_equal(pair.shorter.length, pair.longer.length);
    assert_memory_equal(pair.shorter.code, pair.longer.code,
                        pair.longer.length * sizeof(*pair.longer.code));
}

static void what_would_not_be_shorter_is_left_as_it_is(void **state)
{
    (void)state;
    scmp_filter_ctx context = new_context();
    for (int number = 0; number < 600; number += 2) /* none like its neighbours */
        assert_int_equal(
            seccomp_rule_add(context, SCMP_ACT_ERRNO(100 + (unsigned)number), number, 0), 0);
    assert_is_left_alone(exported(context));
}

static void two_architectures_are_left_as_they_are(void **state)
{
    (void)state;
    scmp_filter_ctx context = new_context();
    uint32_t other = OTHER_ARCHITECTURE == AUDIT_ARCH_I386 ? SCMP_ARCH_X86 : SCMP_ARCH_ARM;
    assert_int_equal(seccomp_arch_add(context, other), 0);
    for (int number = 0; number < 200; number++)
        if (number != SYS_exit_group)
            seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0);
    assert_is_left_alone(exported(context));
}

#define CODES 16
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define VERDICT(value) BPF_STMT(BPF_RET | BPF_K, value)
#define ANSWER VERDICT(SECCOMP_RET_ALLOW)
#define ANSWERS_8 ANSWER, ANSWER, ANSWER, ANSWER, ANSWER, ANSWER, ANSWER, ANSWER
/* Architecture and number are loaded, and for number 5 the fifth instruction is next. */
#define BEGINNING                                                                                  \
    LOAD(4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 13), LOAD(0),                \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 4)

static void other_shapes_are_left_as_they_are(void **state)
{
    (void)state;
    static const struct sock_filter codes[][CODES] = {
        {ANSWERS_8, ANSWERS_8},
        /* the architecture is not looked at, or after the number */
        {LOAD(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 13), LOAD(0), LOAD(0),
         LOAD(0), LOAD(0), LOAD(0), LOAD(0), ANSWERS_8},
        {LOAD(4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 13),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 1), ANSWER, VERDICT(0), ANSWER,
         ANSWER, ANSWER, ANSWERS_8},
        {LOAD(0), LOAD(0), LOAD(4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 1),
         ANSWER, VERDICT(0), ANSWER, ANSWER, ANSWERS_8},
        /* an instruction that is not known, at the number or at an argument */
        {LOAD(4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, 13), LOAD(0),
         BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 1, 0), ANSWER, VERDICT(0), ANSWER, ANSWER,
         ANSWERS_8},
        {BEGINNING, LOAD(16), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 1, 0), ANSWER, VERDICT(0),
         ANSWERS_8},
        /* no program: jumps that lead out of it, an end that is none */
        {BEGINNING, LOAD(16), BPF_STMT(BPF_JMP | BPF_JA, 0x7fffffff), ANSWER, VERDICT(0),
         ANSWERS_8},
        {BEGINNING, LOAD(16), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 10, 0), ANSWER, VERDICT(0),
         ANSWERS_8},
        {BEGINNING, LOAD(16), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 10), ANSWER, VERDICT(0),
         ANSWERS_8},
        {BEGINNING, BPF_STMT(BPF_JMP | BPF_JA, 10), LOAD(16), LOAD(16), LOAD(16), ANSWER, ANSWER,
         ANSWER, ANSWER, ANSWER, ANSWER, ANSWER, LOAD(16)},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
        struct filter filter = {calloc(CODES, sizeof(*filter.code)), CODES};
        assert_non_null(filter.code);
        memcpy(filter.code, codes[i], sizeof(codes[i]));
        assert_is_left_alone(filter);
    }
    assert_is_left_alone((struct filter){calloc(1, sizeof(struct sock_filter)), 0});
}

static void that_shape_is_shortened(void **state)
{
    (void)state;
    static const struct sock_filter code[CODES] = {
        BEGINNING, LOAD(16),   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0),
        ANSWER,    VERDICT(0), ANSWERS_8};
    struct filter filter = {calloc(CODES, sizeof(*filter.code)), CODES};
    assert_non_null(filter.code);
    memcpy(filter.code, code, sizeof(code));
    OWNED(pair_release) struct pair pair = shortened(filter);
    assert_in_range(pair.shorter.length, 8, CODES - 1);
    compare(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_profiles_say_the_same_in_fewer_words),
        cmocka_unit_test(a_long_program_says_the_same),
        cmocka_unit_test(what_would_not_be_shorter_is_left_as_it_is),
        cmocka_unit_test(two_architectures_are_left_as_they_are),
        cmocka_unit_test(other_shapes_are_left_as_they_are),
        cmocka_unit_test(that_shape_is_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
