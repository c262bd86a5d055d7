#include "interpreter/metrics/metrics.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <inttypes.h>

#define MICROSECOND INT64_C(1000)

/* In nanoseconds, and as they are written. */
static const struct {
    int64_t most_ns;
    const char *text;
} buckets[METRICS_BUCKETS] = {
    {1000 * MICROSECOND, "0.001"},    {5000 * MICROSECOND, "0.005"},
    {10000 * MICROSECOND, "0.01"},    {25000 * MICROSECOND, "0.025"},
    {50000 * MICROSECOND, "0.05"},    {100000 * MICROSECOND, "0.1"},
    {250000 * MICROSECOND, "0.25"},   {500000 * MICROSECOND, "0.5"},
    {1000000 * MICROSECOND, "1.0"},   {2500000 * MICROSECOND, "2.5"},
    {5000000 * MICROSECOND, "5.0"},   {10000000 * MICROSECOND, "10.0"},
    {30000000 * MICROSECOND, "30.0"}, {300000000 * MICROSECOND, "300.0"},
};

static const struct {
    const char *label, *words;
} reasons[] = {
    [NOT_RUN_REFUSED] = {"refused", "refused"},
    [NOT_RUN_POLICY] = {"policy", "refused by --policy"},
    [NOT_RUN_FAILED] = {"failed", "failed"},
    [NOT_RUN_CANCELLED] = {"cancelled", "cancelled"},
};

const char *not_run_words(enum not_run reason)
{
    return reasons[reason].words;
}

static void observe(struct metrics_histogram *histogram, int64_t nanoseconds)
{
    size_t i = 0;
    while (i < METRICS_BUCKETS && nanoseconds > buckets[i].most_ns)
        i++;
    histogram->counts[i]++;
    /* A worker elsewhere may have said how long it took: untrusted. */
    if (__builtin_add_overflow(histogram->sum_ns, nanoseconds, &histogram->sum_ns))
        histogram->sum_ns = INT64_MAX;
}

void metrics_count_run(struct metrics *metrics, const struct language *language,
                       const struct run_result *result)
{
    metrics->runs[language_place(language)][result->outcome]++;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        metrics->limits[i] += result->limits_reached >> i & 1U;
    observe(&metrics->run_time, result->duration_ns);
    observe(&metrics->queue_time, result->queued_ns);
}

void metrics_count_not_run(struct metrics *metrics, enum not_run reason)
{
    metrics->not_run[reason]++;
}

void metrics_count_command(struct metrics *metrics, const struct command_result *result)
{
    metrics->commands[result->outcome]++;
    observe(&metrics->command_time, result->duration_ns);
}

void metrics_count_command_not_run(struct metrics *metrics, enum not_run reason)
{
    metrics->commands_not_run[reason]++;
}

static void write_head(struct buffer *text, const char *name, const char *type, const char *help)
{
    buffer_format(text, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void write_not_run(const char *name, const char *help, const uint64_t counts[NOT_RUN_COUNT],
                          struct buffer *text)
{
    write_head(text, name, "counter", help);
    for (size_t i = 0; i < NOT_RUN_COUNT; i++)
        buffer_format(text, "%s_total{reason=\"%s\"} %" PRIu64 "\n", name, reasons[i].label,
                      counts[i]);
}

/* Counters that are zero are there too, so that rates are known from the first event. */
static void write_counters(const struct metrics *metrics, struct buffer *text)
{
    write_head(text, "code_sandbox_runs", "counter", "Runs that have ended.");
    for (size_t i = 0; i < language_count; i++)
        for (size_t outcome = 0; outcome < OUTCOME_COUNT; outcome++)
            buffer_format(text,
                          "code_sandbox_runs_total{language=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
                          languages[i]->name, outcome_name((enum run_outcome)outcome),
                          metrics->runs[i][outcome]);
    write_not_run("code_sandbox_calls_not_run", "Calls without a result of their run.",
                  metrics->not_run, text);
    write_head(text, "code_sandbox_limits_reached", "counter", "Runs that reached a limit.");
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        buffer_format(text, "code_sandbox_limits_reached_total{limit=\"%s\"} %" PRIu64 "\n",
                      outcome_limit_name((enum limit_index)i), metrics->limits[i]);
}

static void write_commands(const struct metrics *metrics, struct buffer *text)
{
    write_head(text, "code_sandbox_commands", "counter", "Commands of sessions that have ended.");
    for (size_t outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        buffer_format(text, "code_sandbox_commands_total{outcome=\"%s\"} %" PRIu64 "\n",
                      outcome_name((enum run_outcome)outcome), metrics->commands[outcome]);
    write_not_run("code_sandbox_commands_not_run", "Commands without a result.",
                  metrics->commands_not_run, text);
}

static void write_histogram(const struct metrics_histogram *histogram, const char *name,
                            const char *help, struct buffer *text)
{
    uint64_t sum = 0;
    buffer_format(text, "# TYPE %s histogram\n# UNIT %s seconds\n# HELP %s %s\n", name, name, name,
                  help);
    for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
        sum += histogram->counts[i];
        buffer_format(text, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", name,
                      i < METRICS_BUCKETS ? buckets[i].text : "+Inf", sum);
    }
    buffer_format(text, "%s_count %" PRIu64 "\n%s_sum %" PRId64 ".%06" PRId64 "\n", name, sum, name,
                  histogram->sum_ns / NANOSECONDS_PER_SECOND,
                  histogram->sum_ns % NANOSECONDS_PER_SECOND / MICROSECOND);
}

int metrics_write(const struct metrics *metrics, const struct metrics_now *now, struct buffer *text)
{
    write_counters(metrics, text);
    write_commands(metrics, text);
    write_histogram(&metrics->run_time, "code_sandbox_run_seconds",
                    "From the start of a program to its end.", text);
    write_histogram(&metrics->queue_time, "code_sandbox_queue_seconds",
                    "From a call to the set-up of its sandbox.", text);
    write_histogram(&metrics->command_time, "code_sandbox_command_seconds",
                    "From the start of a command to its end.", text);
    write_head(text, "code_sandbox_places", "gauge", "Runs that can go on at once.");
    buffer_format(text, "code_sandbox_places %" PRIu64 "\n", now->places);
    write_head(text, "code_sandbox_running", "gauge", "Runs that go on.");
    buffer_format(text, "code_sandbox_running %" PRIu64 "\n", now->running);
    write_head(text, "code_sandbox_queued", "gauge", "Runs that wait for a place.");
    buffer_format(text, "code_sandbox_queued %" PRIu64 "\n", now->queued);
    /* The only append that is looked at: a buffer without room refuses this one, too. */
    return buffer_append_text(text, "# EOF\n");
}
