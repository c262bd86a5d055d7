#include "sandbox/jail/filter_dispatch.h"

#include "sandbox/base/owned.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#define LOAD (BPF_LD | BPF_W | BPF_ABS)
#define JUMP (BPF_JMP | BPF_JA)
#define IF_EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define IF_ABOVE (BPF_JMP | BPF_JGT | BPF_K)
#define IF_NOT_BELOW (BPF_JMP | BPF_JGE | BPF_K)
#define RETURN (BPF_RET | BPF_K)
#define MASK (BPF_ALU | BPF_AND | BPF_K)

/* The kernel takes programs of 4096 instructions (BPF_MAXINSNS); of a much longer one nothing comes. */
#define LENGTH_MAX (4 * BPF_MAXINSNS)

/* A conditional jump leads over at most 255 instructions, and one more may be put in between. */
#define NEAR_MAX (UINT8_MAX - 1)

/* What a way through a program comes to. */
struct target {
    bool is_verdict;
    uint32_t verdict;
    size_t at; /* else: of an instruction, in the old program or in the new one */
};

/* Numbers from `first` on, to where the next begins. */
struct interval {
    uint32_t first;
    struct target answer; /* in the old program, until that is taken over */
};

/*
 * The new program, from its end to its beginning, so that what a jump leads to is there before the jump. A
 * place in it is counted from the end.
 */
struct writer {
    struct sock_filter *code;
    size_t count, max;
    bool is_full;
};

static bool is_condition(const struct sock_filter *op)
{
    return op->code == IF_EQUAL || op->code == IF_ABOVE || op->code == IF_NOT_BELOW;
}

static bool holds(const struct sock_filter *op, uint32_t value)
{
    if (op->code == IF_EQUAL)
        return value == op->k;
    return op->code == IF_ABOVE ? value > op->k : value >= op->k;
}

/* What libseccomp may make use of, and so what is understood here. */
static bool is_known(const struct sock_filter *op)
{
    static const uint16_t others[] = {
        RETURN, LOAD, JUMP, MASK, BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA, BPF_LD | BPF_MEM, BPF_ST};
    bool found = is_condition(op);
    for (size_t i = 0; !found && i < ARRAY_LENGTH(others); i++)
        found = op->code == others[i];
    return found;
}

/* As the kernel would have it too: every way leads forward to a verdict, and none out of the program. */
static bool is_sound(const struct filter *filter)
{
    for (size_t at = 0; at < filter->length; at++) {
        const struct sock_filter *op = &filter->code[at];
        size_t behind = filter->length - at - 1;
        if (!is_known(op) || (op->code == JUMP && op->k >= behind) ||
            (is_condition(op) && (op->jt >= behind || op->jf >= behind)))
            return false;
    }
    return filter->length > 0 && filter->code[filter->length - 1].code == RETURN;
}

static size_t behind_jumps(const struct filter *old, size_t at)
{
    while (old->code[at].code == JUMP)
        at += 1 + old->code[at].k;
    return at;
}

/*
 * libseccomp looks at both halves of an argument, at that one too of which a rule compares no bit: whether
 * 0 is equal to 0. Where that look leads, or `at` if there is none, or its accumulator is made use of.
 */
static size_t behind_idle_look(const struct filter *old, size_t at)
{
    const struct sock_filter *op = &old->code[at];
    if (old->length - at < 4 || op[0].code != LOAD || op[1].code != MASK || op[1].k != 0 ||
        op[2].code != IF_EQUAL || op[2].k != 0)
        return at;
    size_t next = behind_jumps(old, at + 3 + op[2].jt);
    return old->code[next].code == LOAD || old->code[next].code == RETURN ? next : at;
}

/* Where an instruction of the old program leads, without what decides nothing on the way. */
static struct target target_of(const struct filter *old, size_t at)
{
    at = behind_jumps(old, at);
    for (size_t next; (next = behind_idle_look(old, at)) != at;)
        at = next;
    const struct sock_filter *op = &old->code[at];
    return (struct target){op->code == RETURN, op->code == RETURN ? op->k : 0, at};
}

/*
 * What the program comes to with that number, up to a verdict or the first look at something else than the
 * number. False: it is of another shape.
 *
 * On the way there, nothing is done but to load the number and to compare it. So what begins there finds
 * the same in the new program as in the old: it loads the accumulator itself, and the index register and
 * the scratch memory, if it uses them, are as they were when the program began.
 */
static bool find_answer(const struct filter *old, size_t begin, uint32_t number,
                        struct target *ret_answer)
{
    for (size_t at = begin; at < old->length; at++) {
        const struct sock_filter *op = &old->code[at];
        if (op->code == LOAD && op->k == offsetof(struct seccomp_data, nr))
            continue;
        if (op->code == JUMP) {
            at += op->k;
        } else if (is_condition(op)) {
            at += holds(op, number) ? op->jt : op->jf;
        } else {
            *ret_answer = target_of(old, at);
            return op->code == RETURN ||
                   (op->code == LOAD && op->k != offsetof(struct seccomp_data, arch));
        }
    }
    return false;
}

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = ((const struct interval *)left)->first;
    uint32_t b = ((const struct interval *)right)->first;
    return (a > b) - (a < b);
}

static bool are_alike(const struct target *a, const struct target *b)
{
    return a->is_verdict == b->is_verdict &&
           (a->is_verdict ? a->verdict == b->verdict : a->at == b->at);
}

/*
 * Between two numbers that the program compares with, all are answered alike. Numbers that it compares
 * arguments with are taken too: they part what is then found to be alike. At most 2 * length + 1 of them.
 */
static bool find_intervals(const struct filter *old, size_t begin, struct interval *intervals,
                           size_t *ret_count)
{
    size_t count = 0;
    intervals[count++].first = 0;
    for (size_t at = begin; at < old->length; at++) {
        const struct sock_filter *op = &old->code[at];
        if (!is_condition(op))
            continue;
        if (op->code != IF_ABOVE)
            intervals[count++].first = op->k;
        if (op->code != IF_NOT_BELOW && op->k < UINT32_MAX)
            intervals[count++].first = op->k + 1;
    }
    qsort(intervals, count, sizeof(*intervals), compare_numbers);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct interval interval = {.first = intervals[i].first};
        if (!find_answer(old, begin, interval.first, &interval.answer))
            return false;
        if (kept == 0 || !are_alike(&interval.answer, &intervals[kept - 1].answer))
            intervals[kept++] = interval;
    }
    *ret_count = kept;
    return true;
}

/* Of a program that is full nothing is of use any more, wherever its jumps lead: see rewrite(). */
static size_t put(struct writer *writer, struct sock_filter op)
{
    if (writer->count == writer->max) {
        writer->is_full = true;
        return 0;
    }
    writer->code[writer->count] = op;
    return writer->count++;
}

/* How many instructions there are between the place and the one that is written next. */
static size_t distance_to(const struct writer *writer, size_t place)
{
    return writer->count - place - 1;
}

/* A place that leads there and is at most `max` instructions away, written if there is none. */
static size_t place_within(struct writer *writer, const struct target *target, size_t max)
{
    if (target->is_verdict) {
        for (size_t i = 0; i <= max && i < writer->count; i++) {
            const struct sock_filter *op = &writer->code[writer->count - i - 1];
            if (op->code == RETURN && op->k == target->verdict)
                return writer->count - i - 1;
        }
        return put(writer, (struct sock_filter)BPF_STMT(RETURN, target->verdict));
    }
    size_t distance = distance_to(writer, target->at);
    return distance <= max ? target->at
                           : put(writer, (struct sock_filter)BPF_STMT(JUMP, (uint32_t)distance));
}

static struct target put_condition(struct writer *writer, uint16_t code, uint32_t value,
                                   const struct target *if_true, const struct target *if_false)
{
    size_t yes = place_within(writer, if_true, NEAR_MAX);
    size_t no = place_within(writer, if_false, NEAR_MAX);
    uint8_t to_yes = (uint8_t)distance_to(writer, yes);
    uint8_t to_no = (uint8_t)distance_to(writer, no);
    size_t place = put(writer, (struct sock_filter)BPF_JUMP(code, value, to_yes, to_no));
    return (struct target){.at = place};
}

/* An instruction that is followed by `next`. */
static struct target put_before(struct writer *writer, struct sock_filter op,
                                const struct target *next)
{
    place_within(writer, next, 0);
    return (struct target){.at = put(writer, op)};
}

/* Where the new program has what the old one has there. */
static struct target target_in_new(const struct filter *old, const size_t *places, size_t at)
{
    struct target target = target_of(old, at);
    if (!target.is_verdict)
        target.at = places[target.at];
    return target;
}

/* What looks at arguments, as it is. `places` gets where each instruction of it has come to. */
static void put_bodies(struct writer *writer, const struct filter *old, bool *is_reached,
                       size_t *places)
{
    for (size_t at = 0; at < old->length; at++) {
        const struct sock_filter *op = &old->code[at];
        if (!is_reached[at] || op->code == RETURN)
            continue;
        if (is_condition(op)) {
            is_reached[target_of(old, at + 1 + op->jt).at] = true;
            is_reached[target_of(old, at + 1 + op->jf).at] = true;
        } else {
            is_reached[target_of(old, at + 1).at] = true;
        }
    }
    for (size_t at = old->length; at-- > 0;) {
        const struct sock_filter *op = &old->code[at];
        if (!is_reached[at] || op->code == RETURN)
            continue;
        if (is_condition(op)) {
            struct target yes = target_in_new(old, places, at + 1 + op->jt);
            struct target no = target_in_new(old, places, at + 1 + op->jf);
            places[at] = put_condition(writer, op->code, op->k, &yes, &no).at;
        } else {
            struct target next = target_in_new(old, places, at + 1);
            places[at] = put_before(writer, *op, &next).at;
        }
    }
}

/* A binary tree over `count` intervals, whose answers are places of the new program. */
static struct target put_tree(struct writer *writer, const struct interval *intervals, size_t count)
{
    if (count == 1)
        return intervals[0].answer;
    size_t half = count / 2;
    struct target above = put_tree(writer, intervals + half, count - half);
    struct target below = put_tree(writer, intervals, half);
    return put_condition(writer, IF_NOT_BELOW, intervals[half].first, &above, &below);
}

/*
 * The architecture is looked at first and then the number: where that begins, and what is done with a call
 * of another architecture.
 */
static bool find_beginning(const struct filter *old, size_t *ret_begin, struct target *ret_foreign)
{
    if (!is_sound(old) || old->length < 3 || old->code[0].code != LOAD ||
        old->code[0].k != offsetof(struct seccomp_data, arch) || old->code[1].code != IF_EQUAL)
        return false;
    *ret_foreign = target_of(old, 2 + (size_t)old->code[1].jf);
    *ret_begin = target_of(old, 2 + (size_t)old->code[1].jt).at;
    const struct sock_filter *first = &old->code[*ret_begin];
    return ret_foreign->is_verdict && first->code == LOAD &&
           first->k == offsetof(struct seccomp_data, nr);
}

/* Gives the writer the new program; false: the old one is of another shape, or not longer. */
static bool rewrite(struct writer *writer, const struct filter *old, struct interval *intervals,
                    bool *is_reached, size_t *places)
{
    struct target foreign;
    size_t begin = 0;
    size_t count = 0;
    if (!find_beginning(old, &begin, &foreign) || !find_intervals(old, begin, intervals, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        is_reached[intervals[i].answer.at] = true;
    put_bodies(writer, old, is_reached, places);
    for (size_t i = 0; i < count; i++)
        if (!intervals[i].answer.is_verdict)
            intervals[i].answer.at = places[intervals[i].answer.at];
    struct target tree = put_tree(writer, intervals, count);
    struct sock_filter load_number = BPF_STMT(LOAD, offsetof(struct seccomp_data, nr));
    struct target number = put_before(writer, load_number, &tree);
    struct target same = put_condition(writer, IF_EQUAL, old->code[1].k, &number, &foreign);
    put_before(writer, old->code[0], &same);
    return !writer->is_full;
}

int filter_dispatch_shorten(struct filter *filter)
{
    size_t length = filter->length;
    if (length > LENGTH_MAX)
        return 0;
    OWNED_MEMORY struct sock_filter *code = calloc(length, sizeof(*code));
    OWNED_MEMORY struct interval *intervals = calloc(2 * length + 1, sizeof(*intervals));
    OWNED_MEMORY bool *is_reached = calloc(length, sizeof(*is_reached));
    OWNED_MEMORY size_t *places = calloc(length, sizeof(*places));
    if (code == NULL || intervals == NULL || is_reached == NULL || places == NULL)
        return -ENOMEM;
    struct writer writer = {.code = code, .max = length - 1};
    if (!rewrite(&writer, filter, intervals, is_reached, places))
        return 0;
    for (size_t i = 0; i < writer.count; i++)
        filter->code[i] = writer.code[writer.count - i - 1];
    filter->length = (unsigned short)writer.count;
    return 0;
}
