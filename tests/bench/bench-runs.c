/*
 * bench-runs: what it costs to run a program in a jail, with a cgroup of its own and without, side
 * by side with running it bare. In each round everything is measured once, so that whatever else the
 * machine does meanwhile meets all of it alike; and each after a bare run that is not counted, because
 * the kernel is still busy with the end of one jail when the next begins.
 *
 * A run is measured to its answer. What is done after that for the next one, where nobody waits, is
 * in the row of the empty cgroup. Runs in a sandbox that was made ahead, cgroup and all, are measured
 * when the program in it has come to where it waits for its code.
 */
#include "sandbox/base/owned.h"
#include "sandbox/cgroup.h"
#include "sandbox/engine.h"
#include "tests/bench/bench-report.h"
#include "tests/bench/bench-rootfs.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_DEFAULT 200
#define ROUNDS_MAX 100000
#define ROUNDS_BEFORE 5 /* not counted: caches are filled meanwhile */
#define IDLE_LOOK_NS 100000
#define READY_NS (20 * NANOSECONDS_PER_MILLISECOND) /* what a program needs to come to its file */
#define EXIT_USAGE 2

/* Asked to stop early: then what has been made is removed first. */
static volatile sig_atomic_t interrupted;

struct bench {
    struct loop loop;
    struct engine *plain;    /* never uses cgroups */
    struct engine *grouping; /* does where they can be had */
    char *rootfs;
    char *layers; /* the directory above it */
    char scope_program[PATH_MAX];
    int status; /* of the run that has ended last, and clock_now() then */
    int64_t ended_at;
    struct engine *busy; /* whose run it was */
    bool ahead; /* and whether it was of a kind that is made ahead */
    struct loop_timer idle; /* looks whether nothing of it is left */
    struct fault *fault;
};

struct options {
    size_t rounds;
    const char *json; /* a file, or NULL */
};

static void on_interrupt(int signal_number)
{
    interrupted = signal_number;
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct bench *bench = data;
    bench->ended_at = clock_now();
    if (status < 0)
        bench->status = fault_set(bench->fault, -status, "%s", fault->text);
    else if (result->outcome != OUTCOME_EXITED || result->exit_code != 0)
        bench->status = fault_set(bench->fault, EPROTO, "the program ended as %s, with %d",
                                  run_outcome_name(result->outcome), result->exit_code);
    else
        bench->status = 0;
    loop_arm(&bench->loop, &bench->idle, bench->ended_at + IDLE_LOOK_NS);
}

/* Answered, a run still has its end before it. */
static void stop_when_idle(struct loop_timer *timer)
{
    struct bench *bench = container_of(timer, struct bench, idle);
    if (engine_running(bench->busy) == 0 && (!bench->ahead || pool_count(&bench->busy->pool) > 0))
        loop_stop(&bench->loop);
    else
        loop_arm(&bench->loop, timer, clock_now() + IDLE_LOOK_NS);
}

/* How a program is run in a jail. */
enum way { WAY_PLAIN, WAY_LAYERED, WAY_AHEAD };

/* From handing it in to its answer. Nothing of it is left when this returns. */
static int run_in(struct bench *bench, struct engine *engine, enum way way, int64_t *ret_ns)
{
    static const char *const argv[] = {BENCH_PROGRAM, NULL};
    static const char *const reading[] = {BENCH_PROGRAM, "main", NULL};
    bool layered = way == WAY_LAYERED;
    bench->ahead = way == WAY_AHEAD;
    const struct run_spec spec = {
        .image = "bench",
        .rootfs = layered ? bench->layers : bench->rootfs,
        .layers = layered ? bench_layers : NULL,
        .argv = bench->ahead ? reading : argv,
        .code_name = "main",
        .code = "",
        .may_be_ahead = bench->ahead,
        .limits = run_limits_default(),
    };
    const struct run_observer observer = {.done = run_done, .data = bench};
    bench->busy = engine;
    bench->idle.fire = stop_when_idle;
    int64_t begin = clock_now();
    int r = run_submit(engine, &spec, &observer, NULL, bench->fault);
    if (r == 0) {
        r = loop_run(&bench->loop);
        if (r < 0)
            return fault_set(bench->fault, -r, "waiting for a run: %m");
        r = bench->status;
    }
    *ret_ns = bench->ended_at - begin;
    return r;
}

static int run_plain(struct bench *bench, int64_t *ret_ns)
{
    return run_in(bench, bench->plain, WAY_PLAIN, ret_ns);
}

static int run_layered(struct bench *bench, int64_t *ret_ns)
{
    return run_in(bench, bench->plain, WAY_LAYERED, ret_ns);
}

static int run_grouping(struct bench *bench, int64_t *ret_ns)
{
    return run_in(bench, bench->grouping, WAY_PLAIN, ret_ns);
}

/* The first of them is cold, and not counted. */
static int run_ahead(struct bench *bench, struct engine *engine, int64_t *ret_ns)
{
    const struct timespec ready = {.tv_nsec = READY_NS};
    nanosleep(&ready, NULL);
    return run_in(bench, engine, WAY_AHEAD, ret_ns);
}

static int run_plain_ahead(struct bench *bench, int64_t *ret_ns)
{
    return run_ahead(bench, bench->plain, ret_ns);
}

static int run_grouping_ahead(struct bench *bench, int64_t *ret_ns)
{
    return run_ahead(bench, bench->grouping, ret_ns);
}

/* The same file, seen from the host. */
static int run_bare(struct bench *bench, int64_t *ret_ns)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", bench->rootfs, BENCH_PROGRAM);
    char *const argv[] = {path, NULL};
    char *const environment[] = {NULL};
    int64_t begin = clock_now();
    pid_t pid = 0;
    int status = 0;
    int error = posix_spawn(&pid, path, NULL, NULL, argv, environment);
    if (error != 0)
        return fault_set(bench->fault, error, "starting %s: %m", path);
    if (waitpid(pid, &status, 0) < 0)
        return fault_set(bench->fault, errno, "waiting for %s: %m", path);
    if (status != 0)
        return fault_set(bench->fault, EPROTO, "%s failed", path);
    *ret_ns = clock_now() - begin;
    return 0;
}

static int make_cgroup(struct bench *bench, int64_t *ret_ns)
{
    const struct run_limits limits = run_limits_default();
    struct cgroup cgroup = CGROUP_EMPTY;
    int64_t begin = clock_now();
    int r = cgroup_make(&bench->grouping->home, &limits, &cgroup, bench->fault);
    cgroup_remove(&cgroup);
    cgroup_make_ahead(&bench->grouping->home, &limits); /* instead of the one that was taken */
    *ret_ns = clock_now() - begin;
    return r;
}

/* What is measured in a round. Another row is another entry. */
static const struct subject {
    const char *name, *label;
    int (*once)(struct bench *bench, int64_t *ret_ns);
    bool needs_cgroup;
} subjects[] = {
    {"bare", "bare: spawn, wait", run_bare, false},
    {"jail", "in a jail", run_plain, false},
    {"jail_of_layers", "in a jail of 20 more layers", run_layered, false},
    {"jail_with_cgroup", "in a jail with a cgroup", run_grouping, true},
    {"jail_ahead", "in a jail made ahead", run_plain_ahead, false},
    {"jail_with_cgroup_ahead", "in one with a cgroup, made ahead", run_grouping_ahead, true},
    {"cgroup", "an empty cgroup: make, remove", make_cgroup, true},
};

enum {
    ROW_BARE,
    ROW_JAIL,
    ROW_LAYERS,
    ROW_JAIL_WITH_CGROUP,
    ROW_AHEAD,
    ROW_AHEAD_WITH_CGROUP,
    ROW_CGROUP,
    ROW_JAIL_COST,
    ROW_CGROUP_COST,
    ROW_CGROUP_COST_AHEAD,
    ROW_COUNT
};
_Static_assert(ARRAY_LENGTH(subjects) == ROW_JAIL_COST, "a row for each subject, then the rest");

/* What is worked out from two of them, round by round. */
static const struct difference {
    const char *name, *label;
    size_t row, with, without;
} differences[] = {
    {"jail_cost", "a jail: in one - bare", ROW_JAIL_COST, ROW_JAIL, ROW_BARE},
    {"cgroup_cost", "a cgroup for a run: with - without", ROW_CGROUP_COST, ROW_JAIL_WITH_CGROUP,
     ROW_JAIL},
    {"cgroup_cost_ahead", "the same, made ahead", ROW_CGROUP_COST_AHEAD, ROW_AHEAD_WITH_CGROUP,
     ROW_AHEAD},
};

static int measure_round(struct bench *bench, const struct bench_row rows[ROW_COUNT], size_t round)
{
    if (interrupted != 0)
        return fault_set(bench->fault, EINTR, "stopped by %s", signal_name(interrupted));
    for (size_t i = 0; i < ARRAY_LENGTH(subjects); i++) {
        if (rows[i].samples == NULL)
            continue;
        int64_t not_counted;
        int r = run_bare(bench, &not_counted);
        if (r == 0)
            r = subjects[i].once(bench, &rows[i].samples[round]);
        if (r < 0) {
            fault_prefix(bench->fault, "%s", subjects[i].label);
            return r;
        }
    }
    return 0;
}

static int measure_all(struct bench *bench, const struct bench_row rows[ROW_COUNT], size_t rounds)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ROUNDS_BEFORE; i++)
        r = measure_round(bench, rows, 0); /* measured again below */
    for (size_t i = 0; r == 0 && i < rounds; i++)
        r = measure_round(bench, rows, i);
    for (size_t k = 0; k < ARRAY_LENGTH(differences); k++) {
        const struct difference *difference = &differences[k];
        int64_t *samples = rows[difference->row].samples;
        for (size_t i = 0; r == 0 && samples != NULL && i < rounds; i++)
            samples[i] = rows[difference->with].samples[i] - rows[difference->without].samples[i];
    }
    return r;
}

static int rows_make(bool has_cgroups, size_t rounds, struct bench_row rows[ROW_COUNT],
                     struct fault *fault)
{
    for (size_t i = 0; i < ARRAY_LENGTH(subjects); i++)
        rows[i] = (struct bench_row){.name = subjects[i].name, .label = subjects[i].label};
    for (size_t i = 0; i < ARRAY_LENGTH(differences); i++)
        rows[differences[i].row] =
            (struct bench_row){.name = differences[i].name, .label = differences[i].label};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        bool needs_cgroup = i == ROW_CGROUP_COST || i == ROW_CGROUP_COST_AHEAD ||
                            (i < ARRAY_LENGTH(subjects) && subjects[i].needs_cgroup);
        if (needs_cgroup && !has_cgroups)
            continue;
        rows[i].samples = calloc(rounds, sizeof(*rows[i].samples));
        if (rows[i].samples == NULL)
            return fault_set(fault, ENOMEM, "out of memory for %zu rounds", rounds);
    }
    return 0;
}

static void rows_release(struct bench_row (*rows)[ROW_COUNT])
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        memory_release(&(*rows)[i].samples);
}

/* The file `name` seen from where this program is. */
static int find_beside(const char *name, char path[PATH_MAX], struct fault *fault)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return fault_set(fault, errno, "reading /proc/self/exe: %m");
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    if (snprintf(path, PATH_MAX, "%s/%s", self, name) >= PATH_MAX)
        return fault_set(fault, ENAMETOOLONG, "%s: %m", name);
    return 0;
}

static void settled(void *data)
{
    struct bench *bench = data;
    loop_stop(&bench->loop);
}

/* Both engines, and what the second one's limits are held by. */
static int engines_open(struct bench *bench)
{
    bool has_scope_program = access(bench->scope_program, X_OK) == 0;
    const struct engine_options plain = {.parallel = 1, .cgroup = CGROUP_NEVER, .ahead = 1};
    const struct engine_options grouping = {
        .parallel = 1,
        .cgroup = CGROUP_IF_POSSIBLE,
        .ahead = 1,
        .scope_program = has_scope_program ? bench->scope_program : NULL,
    };
    int r = engine_new(&bench->loop, &plain, &bench->plain, bench->fault);
    if (r == 0)
        r = engine_new(&bench->loop, &grouping, &bench->grouping, bench->fault);
    if (r < 0)
        return r;
    engine_settle(bench->grouping, settled, bench);
    r = loop_run(&bench->loop);
    return r < 0 ? fault_set(bench->fault, -r, "waiting for cgroups: %m") : 0;
}

static int bench_open(struct bench *bench)
{
    int r = loop_open(&bench->loop);
    if (r < 0)
        return fault_set(bench->fault, -r, "opening an event loop: %m");
    char program[PATH_MAX];
    r = find_beside("nothing", program, bench->fault);
    if (r == 0)
        r = find_beside("../../sandbox/scope/code-sandbox-mcp-scope", bench->scope_program,
                        bench->fault);
    if (r == 0)
        r = bench_rootfs_make(program, &bench->rootfs, bench->fault);
    if (r == 0) {
        bench->layers = strndup(bench->rootfs, strlen(bench->rootfs) - strlen("/0"));
        if (bench->layers == NULL)
            return fault_set(bench->fault, ENOMEM, "out of memory for a path");
    }
    return r < 0 ? r : engines_open(bench);
}

static void bench_close(struct bench *bench)
{
    engine_free(bench->plain);
    engine_free(bench->grouping);
    bench_rootfs_remove(&bench->rootfs);
    memory_release(&bench->layers);
    loop_close(&bench->loop);
}

static int bench_runs(const struct options *options, struct fault *fault)
{
    OWNED(bench_close) struct bench bench = {.loop = {.epoll_fd = -1}, .fault = fault};
    OWNED(rows_release) struct bench_row rows[ROW_COUNT] = {0};
    int r = bench_open(&bench);
    if (r < 0)
        return r;
    const struct engine_enforcement *enforcement = engine_enforcement(bench.grouping);
    r = rows_make(enforcement->source != CGROUP_NONE, options->rounds, rows, fault);
    if (r == 0)
        r = measure_all(&bench, rows, options->rounds);
    const struct bench_report report = {"A program that does nothing, each way in turn", rows,
                                        ROW_COUNT, options->rounds, enforcement};
    if (r == 0)
        r = bench_report_print(&report, fault);
    if (r == 0 && options->json != NULL)
        r = bench_report_write(&report, options->json, fault);
    return r;
}

static bool read_rounds(const char *text, size_t *ret_rounds)
{
    char *end = NULL;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < 1 || number > ROUNDS_MAX)
        return false;
    *ret_rounds = (size_t)number;
    return true;
}

static bool options_read(int argc, char **argv, struct options *ret_options)
{
    enum { OPTION_ROUNDS = 256, OPTION_JSON };
    static const struct option table[] = {
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"json", required_argument, NULL, OPTION_JSON},
        {NULL, 0, NULL, 0},
    };
    *ret_options = (struct options){.rounds = ROUNDS_DEFAULT};
    opterr = 0;
    bool is_right = true;
    for (int option; (option = getopt_long(argc, argv, ":", table, NULL)) != -1;) {
        if (option == OPTION_ROUNDS)
            is_right = read_rounds(optarg, &ret_options->rounds) && is_right;
        else if (option == OPTION_JSON)
            ret_options->json = optarg;
        else
            is_right = false;
    }
    return is_right && optind == argc;
}

int main(int argc, char **argv)
{
    struct options options;
    struct fault fault = {0};
    if (!options_read(argc, argv, &options)) {
        fprintf(stderr, "Usage: bench-runs [--rounds N] [--json FILE]\nN is 1 to %d (%d).\n",
                ROUNDS_MAX, ROUNDS_DEFAULT);
        return EXIT_USAGE;
    }
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    if (bench_runs(&options, &fault) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "bench-runs: %s\n", fault.text);
    return EXIT_FAILURE;
}
