/*
 * bench-steps: where the time of a jail goes, step by step, as the child takes them. It is the jail's
 * own table of steps, taken by a jail_main() of ours that notes the time after each.
 */
#define jail_main jail_main_unmeasured
#include "sandbox/child/jail.c" // NOLINT(bugprone-suspicious-include): its table is what is measured
#undef jail_main

#include "sandbox/base/owned.h"
#include "sandbox/engine.h"
#include "tests/bench/bench-rootfs.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ROUNDS 300
#define ROUNDS_BEFORE 10
#define STEPS ARRAY_LENGTH(steps)

/* Shared with the child. Nanoseconds since the first step began; [STEPS] is the total. */
struct times {
    int64_t cloned_at; /* just before clone3, or nearly: when the run was submitted */
    int64_t began_at;
    int64_t taken[STEPS];
};

static struct times *times;

/* As in sandbox/child/jail.h, which has the name of the other. */
void jail_main(const struct jail_plan *plan) __attribute__((noreturn));

void jail_main(const struct jail_plan *plan)
{
    struct jail jail = {.plan = plan, .root_fd = plan->root_tree_fd};
    int64_t before = clock_now();
    times->began_at = before;
    for (size_t i = 0; i < STEPS; i++) {
        int r = steps[i](&jail);
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
    times->cloned_at = clock_now();
    int r = run_submit(engine, &spec, &observer, NULL, &bench->fault);
    if (r == 0)
        r = loop_run(&bench->loop);
    return r == 0 ? bench->status : r;
}

static int compare_times(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one;
    int64_t b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static double median_us(int64_t *samples)
{
    qsort(samples, ROUNDS, sizeof(*samples), compare_times);
    return (double)samples[ROUNDS / 2] / 1000;
}

static const char *step_name(size_t i)
{
    Dl_info info;
    void *address;
    memcpy(&address, &steps[i], sizeof(address));
    return dladdr(address, &info) != 0 && info.dli_sname != NULL ? info.dli_sname : "?";
}

static int64_t samples[STEPS + 2][ROUNDS];

static int measure(struct bench *bench, struct engine *engine, const char *rootfs)
{
    int r = 0;
    for (int round = -ROUNDS_BEFORE; r == 0 && round < ROUNDS; round++) {
        r = run_once(bench, engine, rootfs);
        if (round < 0)
            continue;
        samples[STEPS][round] = times->began_at - times->cloned_at;
        samples[STEPS + 1][round] = 0;
        for (size_t i = 0; i < STEPS; i++) {
            samples[i][round] = times->taken[i];
            samples[STEPS + 1][round] += times->taken[i];
        }
    }
    return r;
}

static void print(void)
{
    printf("The steps of a jail, median of %d; microseconds\n\n", ROUNDS);
    printf("%-32s %8.1f\n", "plan, pipes, clone3", median_us(samples[STEPS]));
    for (size_t i = 0; i < STEPS; i++)
        printf("%-32s %8.1f\n", step_name(i), median_us(samples[i]));
    printf("%-32s %8.1f\n", "all steps", median_us(samples[STEPS + 1]));
}

int main(int argc, char **argv)
{
    struct bench bench = {.loop = {.epoll_fd = -1}};
    struct engine *engine = NULL;
    char *rootfs = NULL;
    const struct engine_options options = {.parallel = 1, .cgroup = CGROUP_NEVER};
    times = mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc != 2 || times == MAP_FAILED) {
        fprintf(stderr, "Usage: bench-steps PROGRAM\n");
        return 2;
    }
    int r = loop_open(&bench.loop);
    if (r == 0)
        r = bench_rootfs_make(argv[1], &rootfs, &bench.fault);
    if (r == 0)
        r = engine_new(&bench.loop, &options, &engine, &bench.fault);
    if (r == 0)
        r = measure(&bench, engine, rootfs);
    engine_free(engine);
    bench_rootfs_remove(&rootfs);
    loop_close(&bench.loop);
    if (r == 0)
        print();
    else
        fprintf(stderr, "bench-steps: %s\n", bench.fault.text);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
