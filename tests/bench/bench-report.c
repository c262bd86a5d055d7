#include "tests/bench/bench-report.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define NANOSECONDS_PER_MILLISECOND_F 1e6
#define REPORT_MAX ((size_t)1 << 20)

/* What a list of samples comes to; nanoseconds. */
struct spread {
    double minimum, lower_quartile, median, upper_quartile;
};

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one;
    int64_t b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* Between the two samples nearest to that part of the way from the smallest to the largest. */
static double quantile(const int64_t *sorted, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return (double)sorted[below] +
           (place - (double)below) * (double)(sorted[above] - sorted[below]);
}

static int spread_of(const int64_t *samples, size_t count, struct spread *ret_spread)
{
    OWNED_MEMORY int64_t *sorted = malloc(count * sizeof(*sorted));
    if (sorted == NULL)
        return -ENOMEM;
    memcpy(sorted, samples, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    *ret_spread = (struct spread){
        .minimum = (double)sorted[0],
        .lower_quartile = quantile(sorted, count, 0.25),
        .median = quantile(sorted, count, 0.5),
        .upper_quartile = quantile(sorted, count, 0.75),
    };
    return 0;
}

static int print_row(const struct bench_row *row, size_t rounds, double unit)
{
    struct spread spread;
    if (row->samples == NULL) {
        printf("%-38s %9s\n", row->label, "none here");
        return 0;
    }
    int r = spread_of(row->samples, rounds, &spread);
    if (r == 0)
        printf("%-38s %9.3f %9.3f ..%7.3f %9.2f\n", row->label,
               spread.median / NANOSECONDS_PER_MILLISECOND_F,
               spread.lower_quartile / NANOSECONDS_PER_MILLISECOND_F,
               spread.upper_quartile / NANOSECONDS_PER_MILLISECOND_F, spread.median / unit);
    return r;
}

int bench_report_print(const struct bench_report *report, struct fault *fault)
{
    const struct engine_enforcement *enforcement = report->enforcement;
    struct spread unit;
    printf("%s, %zu rounds; milliseconds\n\n%-38s %9s %20s %9s\n", report->title, report->rounds,
           "", "median", "quartiles", "ratio");
    int r = spread_of(report->rows[0].samples, report->rounds, &unit);
    for (size_t i = 0; r == 0 && i < report->row_count; i++)
        r = print_row(&report->rows[i], report->rounds, unit.median);
    printf("\nLimits are held by: %s (cgroup: %s)\n", enforcement_tier(&enforcement->enforced),
           cgroup_source_name(enforcement->source));
    if (enforcement->fallback_reason.text[0] != '\0')
        printf("%s\n", enforcement->fallback_reason.text);
    return r < 0 ? fault_set(fault, -r, "out of memory for the table") : 0;
}

/* The writer takes whole numbers and doubles; a nanosecond is fine enough. */
static void write_spread(struct json_writer *writer, const struct spread *spread, double unit)
{
    json_number_member(writer, "median_ns", (int64_t)spread->median);
    json_number_member(writer, "lower_quartile_ns", (int64_t)spread->lower_quartile);
    json_number_member(writer, "upper_quartile_ns", (int64_t)spread->upper_quartile);
    json_number_member(writer, "minimum_ns", (int64_t)spread->minimum);
    json_key(writer, "ratio");
    json_double(writer, spread->median / unit);
}

static int write_rows(struct json_writer *writer, const struct bench_report *report)
{
    struct spread unit;
    int r = spread_of(report->rows[0].samples, report->rounds, &unit);
    json_key(writer, "rows");
    json_begin_array(writer);
    for (size_t i = 0; r == 0 && i < report->row_count; i++) {
        const struct bench_row *row = &report->rows[i];
        struct spread spread;
        json_begin_object(writer);
        json_text_member(writer, "name", row->name);
        json_text_member(writer, "label", row->label);
        json_boolean_member(writer, "measured", row->samples != NULL);
        if (row->samples != NULL)
            r = spread_of(row->samples, report->rounds, &spread);
        if (row->samples != NULL && r == 0)
            write_spread(writer, &spread, unit.median);
        json_end_object(writer);
    }
    json_end_array(writer);
    return r;
}

static void write_machine(struct json_writer *writer, const struct bench_report *report)
{
    const struct engine_enforcement *enforcement = report->enforcement;
    struct utsname system;
    cpu_set_t processors;
    json_text_member(writer, "title", report->title);
    json_text_member(writer, "version", PROJECT_VERSION);
    json_text_member(writer, "kernel", uname(&system) == 0 ? system.release : NULL);
    json_text_member(writer, "machine", uname(&system) == 0 ? system.machine : NULL);
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
        json_number_member(writer, "processors", CPU_COUNT(&processors));
    json_text_member(writer, "limits", enforcement_tier(&enforcement->enforced));
    json_text_member(writer, "cgroup", cgroup_source_name(enforcement->source));
    json_text_member(writer, "fallback_reason", enforcement->fallback_reason.text);
    json_number_member(writer, "rounds", (int64_t)report->rounds);
}

static void file_release(FILE **file)
{
    if (*file != NULL)
        fclose(*file);
    *file = NULL;
}

static int write_file(const char *path, const struct buffer *text)
{
    OWNED(file_release) FILE *file = fopen(path, "we");
    if (file == NULL || fwrite(text->data, text->length, 1, file) != 1 || fflush(file) != 0)
        return -errno;
    return 0;
}

int bench_report_write(const struct bench_report *report, const char *path, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(REPORT_MAX);
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r == 0) {
        json_begin_object(writer);
        write_machine(writer, report);
        r = write_rows(writer, report);
        json_end_object(writer);
        int closed = json_writer_close(writer);
        r = r < 0 ? r : closed;
    }
    if (r == 0)
        r = buffer_append(&text, "\n", 1);
    if (r == 0)
        r = write_file(path, &text);
    return r < 0 ? fault_set(fault, -r, "writing %s: %m", path) : 0;
}
