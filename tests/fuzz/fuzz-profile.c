/*
 * A seccomp profile. One that compiles gives a program that the kernel would take: jumps forward and
 * inside, a verdict at the end of every way, only verdicts that a profile may name; other
 * architectures and x32 are killed; what is not named is not allowed. Shortened, it says the same.
 */
#include "sandbox/jail/filter.h"

#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/filter-verdict.h"

#include <stddef.h>

#define X32_BIT 0x40000000
#define NUMBER_OF_NOTHING 100000

static bool is_verdict(uint32_t verdict)
{
    static const uint32_t actions[] = {SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_TRAP,
                                       SECCOMP_RET_KILL_THREAD, SECCOMP_RET_KILL_PROCESS};
    for (size_t i = 0; i < ARRAY_LENGTH(actions); i++) {
        if ((verdict & SECCOMP_RET_ACTION_FULL) == actions[i])
            return true;
    }
    return false;
}

/* As seccomp_check_filter() and bpf_check_basics_ok() in the kernel have it. */
static void check_instruction(const struct filter *filter, size_t at)
{
    const struct sock_filter *op = &filter->code[at];
    size_t left = filter->length - at - 1; /* instructions behind this one */
    switch (op->code) {
    case BPF_LD | BPF_W | BPF_ABS:
        FUZZ_CHECK(op->k % 4 == 0 && op->k < sizeof(struct seccomp_data));
        break;
    case BPF_RET | BPF_K:
        FUZZ_CHECK(is_verdict(op->k));
        return;
    case BPF_JMP | BPF_JA:
        FUZZ_CHECK(op->k < left);
        return;
    case BPF_JMP | BPF_JEQ | BPF_K:
    case BPF_JMP | BPF_JGT | BPF_K:
    case BPF_JMP | BPF_JGE | BPF_K:
        FUZZ_CHECK(op->jt < left && op->jf < left);
        return;
    default:
        FUZZ_CHECK(op->code == (BPF_ALU | BPF_AND | BPF_K) || op->code == (BPF_MISC | BPF_TAX) ||
                   op->code == (BPF_MISC | BPF_TXA) || op->code == (BPF_LD | BPF_MEM) ||
                   op->code == BPF_ST);
    }
    FUZZ_CHECK(left > 0);
}

static uint32_t verdict(const struct filter *filter, uint32_t architecture, int number)
{
    const struct seccomp_data call = {.nr = number, .arch = architecture};
    return filter_verdict(filter, &call);
}

static void check_program(const struct filter *filter)
{
    FUZZ_CHECK(filter->length > 0);
    for (size_t at = 0; at < filter->length; at++)
        check_instruction(filter, at);
    FUZZ_CHECK(verdict(filter, OTHER_ARCHITECTURE, 0) == SECCOMP_RET_KILL_PROCESS);
    FUZZ_CHECK(verdict(filter, 0, 0) == SECCOMP_RET_KILL_PROCESS);
    uint32_t unnamed = verdict(filter, OWN_ARCHITECTURE, NUMBER_OF_NOTHING);
    FUZZ_CHECK((unnamed & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ALLOW);
    FUZZ_CHECK(unnamed == verdict(filter, OWN_ARCHITECTURE, NUMBER_OF_NOTHING + 1));
#if defined(__x86_64__)
    FUZZ_CHECK(verdict(filter, OWN_ARCHITECTURE, X32_BIT | 1) == SECCOMP_RET_KILL_PROCESS);
#endif
    for (int number = 0; number < 512; number++)
        FUZZ_CHECK(is_verdict(verdict(filter, OWN_ARCHITECTURE, number)));
}

/* What was compiled has the shape that it must have. */
static void check_shape(const char *text, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    FUZZ_CHECK(json_parse(text, length, &json, NULL) == 0);
    const struct json_value *rules = json_member(json_root(json), "syscalls");
    FUZZ_CHECK(rules != NULL && rules->type == JSON_ARRAY);
    for (const struct json_value *rule = rules->first; rule != NULL; rule = rule->next) {
        const struct json_value *names = json_member(rule, "names");
        FUZZ_CHECK(names != NULL && names->type == JSON_ARRAY);
    }
}

/*
 * Two rules for one system call with two arguments each: with some of them libseccomp 2.5.4 does not
 * come to an end, which filter_try() finds out for the program.
 */
static bool may_go_in_circles(const char *text, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    if (json_parse(text, length, &json, NULL) < 0)
        return false;
    size_t rules_of_two = 0;
    const struct json_value *rules = json_member(json_root(json), "syscalls");
    const struct json_value *rule = rules != NULL ? rules->first : NULL;
    for (; rule != NULL; rule = rule->next) {
        const struct json_value *args = json_member(rule, "args");
        rules_of_two += args != NULL && args->count > 1;
    }
    return rules_of_two > 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(filter_release) struct filter filter = {0};
    struct fault fault = {0};
    if (may_go_in_circles((const char *)data, size))
        return -1;
    int r = filter_compile((const char *)data, size, "memfd_create", &filter, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK((filter.code != NULL) == (r == 0));
    if (r < 0)
        return 0;
    check_shape((const char *)data, size);
    check_program(&filter);
    return 0;
}
