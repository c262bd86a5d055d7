#include "sandbox/limits/polling_rules.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MILLISECONDS(number) ((number) * NANOSECONDS_PER_MILLISECOND)
#define BEGIN MILLISECONDS(1000000) /* clock_now() is never near 0 */

static const struct run_limits limits = {
    .wall_ms = 2000, .memory_bytes = 1000, .processes = 4, .millicpus = 500};
static const struct enforcement polled = {ENFORCED_BY_POLLING, ENFORCED_BY_RLIMIT,
                                          ENFORCED_BY_POLLING};

/* Of steady memory. */
static enum limit_index measure(struct polling_history *history, uint64_t bytes,
                                uint64_t kernel_bytes, int64_t taken_ms)
{
    const struct polling_measurement measurement = {.bytes = bytes,
                                                    .kernel_bytes = kernel_bytes,
                                                    .is_steady = true,
                                                    .now = BEGIN,
                                                    .taken_ns = MILLISECONDS(taken_ms)};
    return polling_rules_take_measurement(history, &limits, &measurement);
}

static struct polling_decision judge(struct polling_history *history,
                                     const struct polling_sample *sample)
{
    return polling_rules_judge(history, &polled, &limits, sample);
}

static void memory_is_judged_by_bound_and_measurement(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct proc_usage_sample usage;
        bool machine_is_exhausted;
        bool is_measuring;
        int64_t measuring_ms, blocked_ms;
        enum limit_index exceeded;
        bool measure;
    } table[] = {
        {"within", {.resident_bytes = 600, .file_bytes = 400}, .exceeded = LIMIT_COUNT},
        {"bound exceeds",
         {.resident_bytes = 601, .file_bytes = 400},
         .exceeded = LIMIT_COUNT,
         .measure = true},
        {"files alone", {.file_bytes = 1001}, .exceeded = LIMIT_COUNT, .measure = true},
        {"new shared memory of the machine",
         {.resident_bytes = 600, .shared_growth = 401, .file_bytes = 100},
         .exceeded = LIMIT_COUNT,
         .measure = true},
        {"new kernel memory of the machine",
         {.resident_bytes = 600, .kernel_growth = 401},
         .exceeded = LIMIT_COUNT,
         .measure = true},
        {"machine",
         {.resident_bytes = 1},
         .machine_is_exhausted = true,
         .exceeded = LIMIT_MACHINE_MEMORY},
        {"measuring",
         {.resident_bytes = 2000},
         .is_measuring = true,
         .measuring_ms = PSS_BLOCKED_MAX_MS + 1,
         .blocked_ms = PSS_BLOCKED_MAX_MS,
         .exceeded = LIMIT_COUNT},
        {"blocked",
         {.resident_bytes = 2000},
         .is_measuring = true,
         .measuring_ms = PSS_BLOCKED_MAX_MS + 1,
         .blocked_ms = PSS_BLOCKED_MAX_MS + 1,
         .exceeded = LIMIT_MEMORY},
        {"for too long",
         {.resident_bytes = 2000},
         .is_measuring = true,
         .measuring_ms = PSS_MAX_MS + 1,
         .exceeded = LIMIT_MEMORY},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct polling_history history = {.sampled_at = BEGIN};
        const struct polling_sample sample = {
            .usage = table[i].usage,
            .now = BEGIN,
            .machine_is_exhausted = table[i].machine_is_exhausted,
            .is_measuring = table[i].is_measuring,
            .measuring_ns = MILLISECONDS(table[i].measuring_ms),
            .blocked_ns = MILLISECONDS(table[i].blocked_ms),
        };
        struct polling_decision decision = judge(&history, &sample);
        if (decision.exceeded != table[i].exceeded || decision.measure != table[i].measure)
            fail_msg("%s: %d, %d", table[i].name, (int)decision.exceeded, decision.measure);
    }
}

/* Measured at a bound of 1100 with a result of 900: 100 are left. */
static void memory_that_cannot_be_measured_is_that_of_too_many_processes(void **state)
{
    (void)state;
    static const struct {
        uint64_t processes;
        int64_t measuring_ms, blocked_ms;
        enum limit_index exceeded;
    } table[] = {
        {1, PSS_MAX_MS + 1, 0, LIMIT_MEMORY},
        {3, PSS_MAX_MS + 1, 0, LIMIT_MEMORY},
        {3, PSS_BLOCKED_MAX_MS + 1, PSS_BLOCKED_MAX_MS + 1, LIMIT_MEMORY},
        {4, PSS_MAX_MS + 1, 0, LIMIT_PROCESSES},
        {4, PSS_BLOCKED_MAX_MS + 1, PSS_BLOCKED_MAX_MS + 1, LIMIT_PROCESSES},
        {5, PSS_MAX_MS + 1, 0, LIMIT_PROCESSES},
        {5, PSS_BLOCKED_MAX_MS + 1, PSS_BLOCKED_MAX_MS + 1, LIMIT_PROCESSES},
        {400, PSS_MAX_MS + 1, PSS_MAX_MS, LIMIT_PROCESSES},
        {4, PSS_MAX_MS - 1, 0, LIMIT_COUNT},
        {5, PSS_BLOCKED_MAX_MS - 1, PSS_BLOCKED_MAX_MS - 1, LIMIT_COUNT},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct polling_history history = {.sampled_at = BEGIN};
        const struct polling_sample sample = {
            .now = BEGIN + 1,
            .usage = {.resident_bytes = 2000, .processes = table[i].processes},
            .is_measuring = true,
            .measuring_ns = MILLISECONDS(table[i].measuring_ms),
            .blocked_ns = MILLISECONDS(table[i].blocked_ms),
        };
        assert_int_equal(judge(&history, &sample).exceeded, table[i].exceeded);
        /* The same when the measurement fails then. */
        assert_int_equal(polling_rules_unmeasured(&history, &limits),
                         table[i].processes >= limits.processes ? LIMIT_PROCESSES : LIMIT_MEMORY);
    }
}

static void a_measurement_holds_while_it_proves_the_limit(void **state)
{
    (void)state;
    static const struct {
        uint64_t bound;
        int64_t age_ms;
        bool measure;
    } table[] = {
        {1100, 0, false},
        {1200, PSS_AGE_MAX_MS, false},
        {1201, 0, true},
        {1001, PSS_AGE_MAX_MS + 1, true},
        {1000, PSS_AGE_MAX_MS + 1, false}, /* within the limit whatever is shared */
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct polling_history history = {.sampled_at = BEGIN};
        struct polling_sample sample = {.usage = {.resident_bytes = 1100}, .now = BEGIN};
        assert_true(judge(&history, &sample).measure);
        assert_int_equal(measure(&history, 900, 0, 0), LIMIT_COUNT);
        assert_int_equal(history.peak_memory_bytes, 900);
        sample.usage.resident_bytes = table[i].bound;
        sample.now = BEGIN + MILLISECONDS(table[i].age_ms);
        assert_int_equal(judge(&history, &sample).measure, table[i].measure);
    }
}

/* One socket more than the limit allows; 100 bytes are left, which could be full after 1 ms. */
static void sockets_are_measured_again_soon(void **state)
{
    (void)state;
    static const struct {
        int64_t age_ms, taken_ms;
        bool measure;
    } table[] = {{0, 0, false}, {1, 0, true}, {10, 5, false}, {11, 5, true}};
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct polling_history history = {.sampled_at = BEGIN};
        struct polling_sample sample = {.usage = {.sockets = {.used = 1}}, .now = BEGIN};
        assert_true(judge(&history, &sample).measure);
        assert_int_equal(measure(&history, 900, 0, table[i].taken_ms), LIMIT_COUNT);
        sample.now = BEGIN + MILLISECONDS(table[i].age_ms);
        assert_int_equal(judge(&history, &sample).measure, table[i].measure);
    }
}

static void a_measurement_past_the_limit_or_failed_ends_the_run(void **state)
{
    (void)state;
    struct polling_history history = {0};
    assert_int_equal(measure(&history, 1000, 0, 0), LIMIT_COUNT);
    assert_int_equal(measure(&history, 1001, 0, 0), LIMIT_MEMORY);
    assert_int_equal(measure(&history, 1002, 1, 0), LIMIT_MEMORY);
    assert_int_equal(measure(&history, 1002, 2, 0), LIMIT_MEMORY);
    assert_int_equal(measure(&history, 1002, 250, 0), LIMIT_MEMORY);
    assert_int_equal(measure(&history, 1002, 251, 0), LIMIT_KERNEL_MEMORY);
    assert_int_equal(measure(&history, 2002, 1001, 0), LIMIT_MEMORY);
    assert_int_equal(measure(&history, 9000, 8000, 0), LIMIT_KERNEL_MEMORY);
    assert_int_equal(measure(&history, UINT64_MAX, 0, 0), LIMIT_MEMORY);
    assert_int_equal(history.peak_memory_bytes, 9000);
}

/* Processes that fork while they are read are counted several times. */
static void an_excess_counts_once_it_is_steady(void **state)
{
    (void)state;
    static const struct polling_measurement unsteady = {.bytes = 3000, .now = BEGIN};
    for (uint64_t processes = 1; processes <= 5; processes += 4) {
        struct polling_history history = {.sampled_at = BEGIN};
        const struct polling_sample sample = {
            .usage = {.resident_bytes = 2000, .processes = processes}, .now = BEGIN};
        for (int i = 0; i < UNSTEADY_MAX; i++) {
            assert_true(judge(&history, &sample).measure);
            assert_int_equal(polling_rules_take_measurement(&history, &limits, &unsteady),
                             LIMIT_COUNT);
        }
        assert_int_equal(history.peak_memory_bytes, 0);
        struct polling_history steady = history;
        assert_int_equal(measure(&steady, 900, 0, 0), LIMIT_COUNT);
        assert_false(judge(&steady, &sample).measure);
        steady = history;
        assert_int_equal(measure(&steady, 1001, 0, 0), LIMIT_MEMORY);
        assert_int_equal(polling_rules_take_measurement(&history, &limits, &unsteady),
                         processes == 1 ? LIMIT_MEMORY : LIMIT_PROCESSES);
    }
}

/* Only time spent above the limit counts, and time below it makes up for as much. */
static void too_many_processes_for_a_second_end_the_run(void **state)
{
    (void)state;
    static const struct {
        uint64_t processes;
        int64_t after_ms;
        enum limit_index exceeded;
    } table[] = {
        {4, 5000, LIMIT_COUNT},  {5, PROCESSES_FULL_MS - 100, LIMIT_COUNT},
        {4, 200, LIMIT_COUNT},   {5, 299, LIMIT_COUNT},
        {5, 1, LIMIT_PROCESSES},
    };
    struct polling_history history = {.sampled_at = BEGIN};
    struct polling_sample sample = {.now = BEGIN};
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        sample.usage.processes = table[i].processes;
        sample.now += MILLISECONDS(table[i].after_ms);
        assert_int_equal(judge(&history, &sample).exceeded, table[i].exceeded);
        assert_int_equal(history.limits_reached, i > 0 ? REACHED_PROCESSES : 0);
    }
    assert_int_equal(history.peak_processes, 5);
}

static void the_processor_time_is_what_the_rate_allows_in_all(void **state)
{
    (void)state;
    const int64_t budget = MILLISECONDS(1000);
    struct polling_history history = {.sampled_at = BEGIN};
    struct polling_sample sample = {.usage = {.cpu_ns = budget}, .now = BEGIN};
    assert_int_equal(judge(&history, &sample).exceeded, LIMIT_COUNT);
    sample.usage.cpu_ns++;
    assert_int_equal(judge(&history, &sample).exceeded, LIMIT_CPU);
    sample.usage.cpu_ns = 0; /* the processes have gone */
    assert_int_equal(judge(&history, &sample).exceeded, LIMIT_COUNT);
    assert_int_equal(history.cpu_ns, budget + 1);
}

static void limits_of_a_cgroup_are_not_judged(void **state)
{
    (void)state;
    static const struct enforcement by_cgroup = {ENFORCED_BY_CGROUP, ENFORCED_BY_CGROUP,
                                                 ENFORCED_BY_CGROUP};
    struct polling_history history = {.sampled_at = BEGIN};
    const struct polling_sample sample = {
        .usage = {.processes = 100, .resident_bytes = 1 << 20, .cpu_ns = INT64_MAX},
        .now = BEGIN + MILLISECONDS(100000),
        .machine_is_exhausted = true,
    };
    struct polling_decision decision = polling_rules_judge(&history, &by_cgroup, &limits, &sample);
    assert_int_equal(decision.exceeded, LIMIT_COUNT);
    assert_false(decision.measure);
    assert_false(polling_rules_is_past(&by_cgroup, &limits, &sample.usage, 0));
}

static void a_run_is_unreadable_after_many_samples_and_a_second(void **state)
{
    (void)state;
    struct polling_history history = {0};
    for (int i = 0; i < UNREADABLE_SAMPLES_MAX; i++)
        assert_false(polling_rules_note_unreadable(&history, BEGIN + MILLISECONDS(i)));
    assert_false(polling_rules_note_unreadable(&history, BEGIN + MILLISECONDS(UNREADABLE_MAX_MS)));
    assert_true(
        polling_rules_note_unreadable(&history, BEGIN + MILLISECONDS(UNREADABLE_MAX_MS) + 1));
    history = (struct polling_history){0};
    assert_false(polling_rules_note_unreadable(&history, BEGIN));
    assert_false(
        polling_rules_note_unreadable(&history, BEGIN + MILLISECONDS(2 * UNREADABLE_MAX_MS)));
}

static void a_prewarmed_sandbox_is_judged_by_one_sample(void **state)
{
    (void)state;
    static const struct {
        struct proc_usage_sample usage;
        int64_t cpu_ns;
        bool is_past;
    } table[] = {
        {{.resident_bytes = 1000, .processes = 4}, MILLISECONDS(1000), false},
        {{.resident_bytes = 1001}, 0, true},
        {{.processes = 5}, 0, true},
        {{.sockets = {.used = WARM_SOCKETS_MAX}}, 0, false},
        {{.sockets = {.used = WARM_SOCKETS_MAX + 1}}, 0, true},
        {{0}, MILLISECONDS(1000) + 1, true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
        assert_int_equal(polling_rules_is_past(&polled, &limits, &table[i].usage, table[i].cpu_ns),
                         table[i].is_past);
}

static void slow_samples_are_taken_less_often(void **state)
{
    (void)state;
    assert_int_equal(polling_rules_pause_ns(0), MILLISECONDS(SAMPLE_EVERY_MS));
    assert_int_equal(polling_rules_pause_ns(MILLISECONDS(5)),
                     MILLISECONDS(5 * SAMPLE_PAUSE_FACTOR));
    assert_int_equal(polling_rules_pause_ns(MILLISECONDS(10000)),
                     MILLISECONDS(SAMPLE_PAUSE_MAX_MS));
}

static void what_is_given_back_is_measured_anew_and_was_no_limit(void **state)
{
    (void)state;
    struct polling_history history = {.limits_reached = REACHED_PROCESSES};
    const struct polling_sample over = {.usage.resident_bytes = 1500, .now = BEGIN};
    assert_true(judge(&history, &over).measure);
    assert_int_equal(measure(&history, 1400, 0, 0), LIMIT_MEMORY);
    history.limits_reached |= REACHED_MEMORY | REACHED_MACHINE_MEMORY;
    assert_false(judge(&history, &over).measure);
    polling_rules_forget_memory(&history);
    assert_int_equal(history.limits_reached, REACHED_PROCESSES);
    assert_true(judge(&history, &over).measure);
    assert_int_equal(measure(&history, 900, 0, 0), LIMIT_COUNT);
    assert_int_equal(history.peak_memory_bytes, 1400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back_is_measured_anew_and_was_no_limit),
        cmocka_unit_test(memory_is_judged_by_bound_and_measurement),
        cmocka_unit_test(memory_that_cannot_be_measured_is_that_of_too_many_processes),
        cmocka_unit_test(a_measurement_holds_while_it_proves_the_limit),
        cmocka_unit_test(sockets_are_measured_again_soon),
        cmocka_unit_test(a_measurement_past_the_limit_or_failed_ends_the_run),
        cmocka_unit_test(an_excess_counts_once_it_is_steady),
        cmocka_unit_test(too_many_processes_for_a_second_end_the_run),
        cmocka_unit_test(the_processor_time_is_what_the_rate_allows_in_all),
        cmocka_unit_test(limits_of_a_cgroup_are_not_judged),
        cmocka_unit_test(a_run_is_unreadable_after_many_samples_and_a_second),
        cmocka_unit_test(a_prewarmed_sandbox_is_judged_by_one_sample),
        cmocka_unit_test(slow_samples_are_taken_less_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
