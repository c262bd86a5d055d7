/*
 * bench-steps: where the time of a jail goes, step by step, as the child takes them. It is the jail's
 * own table of steps, taken by a jail_main() of ours that notes the time after each.
 */
#define jail_main jail_main_unmeasured
#include "sandbox/jail/child/jail.c" // NOLINT(bugprone-suspicious-include): its table is what is measured
#undef jail_main

#include "sandbox/base/owned.h"
#include "sandbox/engine.h"
#include "tests/bench/bench-report.h"
#include "tests/bench/bench-rootfs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ROUNDS 300
#define ROUNDS_BEFORE 10
#define REST_NS (10 * NANOSECONDS_PER_MILLISECOND) /* the end of the last one is not measured */
#define STEPS ARRAY_LENGTH(steps)

/* Shared with the child. Nanoseconds since the first step began; [STEPS] is the total. */
struct times {
    int64_t cloned_at; /* just before clone3, or nearly: when the run was submitted */
    int64_t began_at;
    int64_t taken[STEPS];
};

static struct times *times;

/* As in sandbox/jail/child/jail.h, which has the name of the other. */
void jail_main(const struct jail_plan *plan) __attribute__((noreturn));

/* A step, and one that a run of tier F takes. */
static bool is_of_run(size_t step)
{
    return steps[step].perform != NULL && (steps[step].jails & JAIL_RUN) != 0 &&
           (steps[step].bases & BASE_NAMESPACES) != 0;
}

void jail_main(const struct jail_plan *plan)
{
    struct jail jail = {.plan = plan, .root_fd = plan->root_tree_fd};
    int64_t before = clock_now();
    times->began_at = before;
    for (size_t i = 0; i < STEPS; i++) {
        if (!is_of_run(i))
            continue;
        jail_note(&jail, (enum jail_step)i, -1);
        int r = steps[i].perform(&jail);
        if (r < 0)
            report_failure(plan, jail.step, -r, jail.index);
        int64_t after = clock_now();
        times->taken[i] = after - before;
        before = after;
    }
    init_main(&jail);
}

struct bench {
    struct loop loop;
    struct loop_timer rested;
    int status;
    struct fault fault;
};

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    (void)result;
    struct bench *bench = data;
    bench->status = status < 0 ? fault_set(&bench->fault, -status, "%s", fault->text) : 0;
    loop_stop(&bench->loop);
}

static void stop_when_rested(struct loop_timer *timer)
{
    loop_stop(&container_of(timer, struct bench, rested)->loop);
}

static int rest(struct bench *bench)
{
    bench->rested.fire = stop_when_rested;
    loop_arm(&bench->loop, &bench->rested, clock_now() + REST_NS);
    return loop_run(&bench->loop);
}

static int run_once(struct bench *bench, struct engine *engine, const char *rootfs)
{
    static const char *const argv[] = {BENCH_PROGRAM, NULL};
    const struct run_spec spec = {
        .image = "bench",
        .rootfs = rootfs,
        .argv = argv,
        .code_name = "main",
        .code = "",
        .limits = run_limits_default(),
    };
    const struct run_observer observer = {.done = run_done, .data = bench};
    int r = rest(bench);
    times->cloned_at = clock_now();
    if (r == 0)
        r = engine_submit(engine, &spec, &observer, NULL, &bench->fault);
    if (r == 0)
        r = loop_run(&bench->loop);
    return r == 0 ? bench->status : r;
}

enum { ROW_TOTAL, ROW_BEFORE, ROW_FIRST_STEP };
#define ROW_COUNT (ROW_FIRST_STEP + STEPS)

static int64_t samples[ROW_COUNT][ROUNDS];

static int measure(struct bench *bench, struct engine *engine, const char *rootfs)
{
    int r = 0;
    for (int round = -ROUNDS_BEFORE; r == 0 && round < ROUNDS; round++) {
        r = run_once(bench, engine, rootfs);
        if (round < 0)
            continue;
        samples[ROW_BEFORE][round] = times->began_at - times->cloned_at;
        samples[ROW_TOTAL][round] = samples[ROW_BEFORE][round];
        for (size_t i = 0; i < STEPS; i++) {
            samples[ROW_FIRST_STEP + i][round] = times->taken[i];
            samples[ROW_TOTAL][round] += times->taken[i];
        }
    }
    return r;
}

static int report(const struct engine *engine, const char *json, struct fault *fault)
{
    struct bench_row rows[ROW_COUNT] = {
        [ROW_TOTAL] = {"all", "all of it", samples[ROW_TOTAL]},
        [ROW_BEFORE] = {"before", "plan, pipes, clone3", samples[ROW_BEFORE]},
    };
    size_t count = ROW_FIRST_STEP;
    for (size_t i = 0; i < STEPS; i++) {
        if (is_of_run(i))
            rows[count++] =
                (struct bench_row){steps[i].name, steps[i].name, samples[ROW_FIRST_STEP + i]};
    }
    const struct bench_report report = {"The steps of a jail, until its program begins", rows,
                                        count, ROUNDS, engine_enforcement(engine)};
    int r = bench_report_print(&report, fault);
    return r == 0 && json != NULL ? bench_report_write(&report, json, fault) : r;
}

int main(int argc, char **argv)
{
    struct bench bench = {.loop = {.epoll_fd = -1}};
    struct engine *engine = NULL;
    char *rootfs = NULL;
    const struct engine_options options = {.parallel = 1, .cgroup = CGROUP_NEVER};
    times = mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc < 2 || argc > 3 || times == MAP_FAILED) {
        fprintf(stderr, "Usage: bench-steps PROGRAM [JSON-FILE]\n");
        return 2;
    }
    int r = loop_open(&bench.loop);
    if (r == 0)
        r = bench_rootfs_make(argv[1], &rootfs, &bench.fault);
    if (r == 0)
        r = engine_new(&bench.loop, &options, &engine, &bench.fault);
    if (r == 0)
        r = measure(&bench, engine, rootfs);
    if (r == 0)
        r = report(engine, argv[2], &bench.fault);
    engine_free(engine);
    bench_rootfs_remove(&rootfs);
    loop_close(&bench.loop);
    if (r < 0)
        fprintf(stderr, "bench-steps: %s\n", bench.fault.text);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
