/*
 * bench-runs: what it costs to run a program in a jail, with a cgroup of its own and without, side
 * by side with running it bare. In each round everything is measured once, so that whatever else the
 * machine does meanwhile meets all of it alike.
 *
 * A run is measured in two ways. Alone: from handing it in to its answer, after a rest, in which all
 * that is left of the last one goes, what is made ahead is made, and the program in it comes to where
 * it waits for its code. That is what somebody waits for who asks now and then. After another: two are
 * handed in together, and it is from the answer of the first to that of the second. There each pays for
 * the taking down of the one before it too.
 *
 * Each comparison of with and without a cgroup has another beside it, of two engines that are alike:
 * how far that is from nothing is how far the first can be trusted.
 */
#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"
#include "sandbox/engine.c" // NOLINT(bugprone-suspicious-include): its members tell when an engine rests
#include "sandbox/limits/cgroup.h"
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
#define AHEAD 2 /* sandboxes that wait, so that one is there for a second run at once */
#define IDLE_LOOK_NS 100000
#define REST_MIN_NS (10 * NANOSECONDS_PER_MILLISECOND)
#define REST_RUNS                                                                                  \
    3 /* and as long as so many runs take: programs made ahead have to be where they wait */
#define EXIT_USAGE 2

/* Asked to stop early: then what has been made is removed first. */
static volatile sig_atomic_t interrupted;

/* Two without cgroups, which differ in nothing, and one with, where they can be had. */
enum engine_of { ENGINE_PLAIN, ENGINE_TWIN, ENGINE_GROUPING, ENGINE_COUNT };

struct bench {
    struct loop loop;
    struct engine *engines[ENGINE_COUNT];
    char *rootfs;
    char *layers; /* the directory above it */
    char scope_program[PATH_MAX];
    size_t awaited; /* runs without an answer */
    int status; /* of the runs since the last rest; 0, or the negative errno of the last failure */
    int64_t answered_at, answered_before; /* the last answer and the one before it; clock_now() */
    struct loop_timer idle; /* looks whether nothing of them is left */
    int64_t idle_since; /* clock_now(); 0: something is */
    int64_t rest_ns;
    unsigned seed; /* of the order in which things are measured */
    struct fault *fault;
};

struct options {
    size_t rounds;
    const char *json; /* a file, or NULL */
    bool no_layers; /* a kernel without overlayfs has none */
};

static void on_interrupt(int signal_number)
{
    interrupted = signal_number;
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct bench *bench = data;
    bench->answered_before = bench->answered_at;
    bench->answered_at = clock_now();
    if (status < 0)
        bench->status = fault_set(bench->fault, -status, "%s", fault->text);
    else if (result->outcome != OUTCOME_EXITED || result->exit_code != 0)
        bench->status = fault_set(bench->fault, EPROTO, "the program ended as %s, with %d",
                                  outcome_name(result->outcome), result->exit_code);
    if (--bench->awaited == 0)
        loop_stop(&bench->loop);
}

/* Answered, a run still has its end before it, and then more are made ahead. */
static bool is_idle(const struct bench *bench)
{
    for (size_t i = 0; i < ENGINE_COUNT; i++) {
        const struct engine *engine = bench->engines[i];
        if (engine_counts(engine).running > 0 || engine->pool.fill.armed ||
            engine->host.cgroups.parent.tidy.armed)
            return false;
    }
    return true;
}

static void stop_when_rested(struct loop_timer *timer)
{
    struct bench *bench = container_of(timer, struct bench, idle);
    int64_t now = clock_now();
    if (!is_idle(bench))
        bench->idle_since = 0;
    else if (bench->idle_since == 0)
        bench->idle_since = now;
    if (bench->idle_since != 0 && now - bench->idle_since >= bench->rest_ns)
        loop_stop(&bench->loop);
    else
        loop_arm(&bench->loop, timer,
                 bench->idle_since != 0 ? bench->idle_since + bench->rest_ns : now + IDLE_LOOK_NS);
}

static int turn_loop(struct bench *bench)
{
    int r = loop_run(&bench->loop);
    return r < 0 ? fault_set(bench->fault, -r, "waiting for a run: %m") : 0;
}

static int rest(struct bench *bench)
{
    bench->idle.fire = stop_when_rested;
    bench->idle_since = 0;
    bench->status = 0;
    loop_arm(&bench->loop, &bench->idle, clock_now());
    return turn_loop(bench);
}

/* How a program is run in a jail. */
enum way { WAY_PLAIN, WAY_LAYERED, WAY_AHEAD };

static int hand_in(struct bench *bench, enum engine_of engine, enum way way)
{
    static const char *const argv[] = {BENCH_PROGRAM, NULL};
    static const char *const reading[] = {BENCH_PROGRAM, "main", NULL};
    bool layered = way == WAY_LAYERED;
    const struct run_spec spec = {
        .image = "bench",
        .rootfs = layered ? bench->layers : bench->rootfs,
        .layers = layered ? bench_layers : NULL,
        .argv = way == WAY_AHEAD ? reading : argv,
        .code_name = "main",
        .code = "",
        .may_be_warm = way == WAY_AHEAD,
        .limits = run_limits_default(),
    };
    const struct run_observer observer = {.done = run_done, .data = bench};
    int r = engine_submit(bench->engines[engine], &spec, &observer, NULL, bench->fault);
    if (r == 0)
        bench->awaited++;
    return r;
}

static int run_them(struct bench *bench, enum engine_of engine, enum way way, size_t count)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = hand_in(bench, engine, way);
    if (r == 0)
        r = turn_loop(bench);
    return r < 0 ? r : bench->status;
}

static int run_alone(struct bench *bench, enum engine_of engine, enum way way, int64_t *ret_ns)
{
    int64_t begin = clock_now();
    int r = run_them(bench, engine, way, 1);
    *ret_ns = bench->answered_at - begin;
    return r;
}

static int run_after_another(struct bench *bench, enum engine_of engine, enum way way,
                             int64_t *ret_ns)
{
    int r = run_them(bench, engine, way, 2);
    *ret_ns = bench->answered_at - bench->answered_before;
    return r;
}

/* The same file, seen from the host. */
static int run_bare(struct bench *bench, enum engine_of engine, enum way way, int64_t *ret_ns)
{
    (void)engine, (void)way;
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

static int make_cgroup(struct bench *bench, enum engine_of engine, enum way way, int64_t *ret_ns)
{
    (void)way;
    struct cgroup_parent *parent = &bench->engines[engine]->host.cgroups.parent;
    const struct run_limits limits = run_limits_default();
    struct cgroup cgroup = CGROUP_EMPTY;
    int64_t begin = clock_now();
    int r = cgroup_make(parent, &limits, &cgroup, bench->fault);
    cgroup_remove(&cgroup);
    cgroup_tidy(parent); /* removes it, and makes another instead of the one that was taken */
    *ret_ns = clock_now() - begin;
    return r;
}

/* What is measured in a round, each after a rest. Another row is another entry. */
static const struct subject {
    const char *name, *label;
    int (*once)(struct bench *bench, enum engine_of engine, enum way way, int64_t *ret_ns);
    enum engine_of engine;
    enum way way;
} subjects[] = {
    {"bare", "bare: spawn, wait", run_bare, ENGINE_PLAIN, WAY_PLAIN},
    {"jail", "in a jail", run_alone, ENGINE_PLAIN, WAY_PLAIN},
    {"jail_again", "the same of an engine like that", run_alone, ENGINE_TWIN, WAY_PLAIN},
    {"jail_with_cgroup", "in a jail with a cgroup", run_alone, ENGINE_GROUPING, WAY_PLAIN},
    {"jail_of_layers", "in a jail of 20 more layers", run_alone, ENGINE_PLAIN, WAY_LAYERED},
    {"ahead", "in a jail made ahead", run_alone, ENGINE_PLAIN, WAY_AHEAD},
    {"ahead_again", "the same of an engine like that", run_alone, ENGINE_TWIN, WAY_AHEAD},
    {"ahead_with_cgroup", "in one with a cgroup, made ahead", run_alone, ENGINE_GROUPING,
     WAY_AHEAD},
    {"next", "after another: in a jail", run_after_another, ENGINE_PLAIN, WAY_PLAIN},
    {"next_again", "  the same of an engine like that", run_after_another, ENGINE_TWIN, WAY_PLAIN},
    {"next_with_cgroup", "  with a cgroup", run_after_another, ENGINE_GROUPING, WAY_PLAIN},
    {"next_ahead", "  made ahead", run_after_another, ENGINE_PLAIN, WAY_AHEAD},
    {"next_ahead_again", "  the same of an engine like that", run_after_another, ENGINE_TWIN,
     WAY_AHEAD},
    {"next_ahead_with_cgroup", "  with a cgroup, made ahead", run_after_another, ENGINE_GROUPING,
     WAY_AHEAD},
    {"cgroup", "an empty cgroup: make, remove", make_cgroup, ENGINE_GROUPING, WAY_PLAIN},
};

enum {
    ROW_BARE,
    ROW_JAIL,
    ROW_JAIL_AGAIN,
    ROW_JAIL_WITH_CGROUP,
    ROW_LAYERS,
    ROW_AHEAD,
    ROW_AHEAD_AGAIN,
    ROW_AHEAD_WITH_CGROUP,
    ROW_NEXT,
    ROW_NEXT_AGAIN,
    ROW_NEXT_WITH_CGROUP,
    ROW_NEXT_AHEAD,
    ROW_NEXT_AHEAD_AGAIN,
    ROW_NEXT_AHEAD_WITH_CGROUP,
    ROW_CGROUP,
    ROW_DIFFERENCES,
};
_Static_assert(ARRAY_LENGTH(subjects) == ROW_DIFFERENCES, "a row for each subject, then the rest");

/* What is worked out from two of them, round by round. */
static const struct difference {
    const char *name, *label;
    size_t with, without;
} differences[] = {
    {"jail_cost", "a jail: in one - bare", ROW_JAIL, ROW_BARE},
    {"jail_cost_ahead", "  made ahead", ROW_AHEAD, ROW_BARE},
    {"cgroup_cost", "a cgroup for a run: with - without", ROW_JAIL_WITH_CGROUP, ROW_JAIL},
    {"like_cost", "  two alike", ROW_JAIL_AGAIN, ROW_JAIL},
    {"cgroup_cost_ahead", "  with - without, made ahead", ROW_AHEAD_WITH_CGROUP, ROW_AHEAD},
    {"like_cost_ahead", "  two alike, made ahead", ROW_AHEAD_AGAIN, ROW_AHEAD},
    {"cgroup_cost_next", "after another: with - without", ROW_NEXT_WITH_CGROUP, ROW_NEXT},
    {"like_cost_next", "  two alike", ROW_NEXT_AGAIN, ROW_NEXT},
    {"cgroup_cost_next_ahead", "  with - without, made ahead", ROW_NEXT_AHEAD_WITH_CGROUP,
     ROW_NEXT_AHEAD},
    {"like_cost_next_ahead", "  two alike, made ahead", ROW_NEXT_AHEAD_AGAIN, ROW_NEXT_AHEAD},
};

#define ROW_COUNT (ARRAY_LENGTH(subjects) + ARRAY_LENGTH(differences))

/* Whether there is nothing to be measured; of a difference, in what has more. */
static bool is_missing(size_t row, bool has_cgroups, bool has_layers)
{
    size_t of = row < ROW_DIFFERENCES ? row : differences[row - ROW_DIFFERENCES].with;
    return (subjects[of].engine == ENGINE_GROUPING && !has_cgroups) ||
           (of == ROW_LAYERS && !has_layers);
}

static int measure_once(struct bench *bench, const struct subject *subject, int64_t *ret_ns)
{
    if (interrupted != 0)
        return fault_set(bench->fault, EINTR, "stopped by %s", signal_name(interrupted));
    int r = rest(bench);
    if (r == 0)
        r = subject->once(bench, subject->engine, subject->way, ret_ns);
    if (r < 0)
        fault_prefix(bench->fault, "%s", subject->label);
    return r;
}

/* In another order each time, because what went before is felt in what comes after. */
static void shuffle(size_t order[ARRAY_LENGTH(subjects)], unsigned *seed)
{
    for (size_t i = 0; i < ARRAY_LENGTH(subjects); i++) {
        size_t other = (size_t)rand_r(seed) % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
}

static int measure_round(struct bench *bench, const struct bench_row rows[ROW_COUNT], size_t round)
{
    size_t order[ARRAY_LENGTH(subjects)] = {0};
    int r = 0;
    shuffle(order, &bench->seed);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(subjects); i++) {
        int64_t *samples = rows[order[i]].samples;
        if (samples == NULL)
            continue;
        r = measure_once(bench, &subjects[order[i]], &samples[round]);
        int64_t rest_ns = REST_RUNS * samples[round];
        if (order[i] == ROW_JAIL)
            bench->rest_ns = rest_ns > REST_MIN_NS ? rest_ns : REST_MIN_NS;
    }
    return r;
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
        int64_t *samples = rows[ROW_DIFFERENCES + k].samples;
        for (size_t i = 0; r == 0 && samples != NULL && i < rounds; i++)
            samples[i] = rows[difference->with].samples[i] - rows[difference->without].samples[i];
    }
    return r;
}

static int rows_make(bool has_cgroups, const struct options *options,
                     struct bench_row rows[ROW_COUNT], struct fault *fault)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        bool is_subject = i < ROW_DIFFERENCES;
        rows[i].name = is_subject ? subjects[i].name : differences[i - ROW_DIFFERENCES].name;
        rows[i].label = is_subject ? subjects[i].label : differences[i - ROW_DIFFERENCES].label;
        if (is_missing(i, has_cgroups, !options->no_layers))
            continue;
        rows[i].samples = calloc(options->rounds, sizeof(*rows[i].samples));
        if (rows[i].samples == NULL)
            return fault_set(fault, ENOMEM, "out of memory for %zu rounds", options->rounds);
    }
    return 0;
}

static void rows_release(struct bench_row (*rows)[ROW_COUNT])
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        memory_release(&(*rows)[i].samples);
}

static void settled(void *data)
{
    struct bench *bench = data;
    loop_stop(&bench->loop);
}

/* All of them, and what the last one's limits are held by. */
static int engines_open(struct bench *bench)
{
    bool has_scope_program = access(bench->scope_program, X_OK) == 0;
    const struct engine_options plain = {.parallel = 1, .cgroup = CGROUP_NEVER, .warm = AHEAD};
    const struct engine_options grouping = {
        .parallel = 1,
        .cgroup = CGROUP_IF_POSSIBLE,
        .warm = AHEAD,
        .scope_program = has_scope_program ? bench->scope_program : NULL,
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ENGINE_COUNT; i++)
        r = engine_new(&bench->loop, i == ENGINE_GROUPING ? &grouping : &plain, &bench->engines[i],
                       bench->fault);
    if (r < 0)
        return r;
    engine_probe(bench->engines[ENGINE_GROUPING], settled, bench);
    r = loop_run(&bench->loop);
    return r < 0 ? fault_set(bench->fault, -r, "waiting for cgroups: %m") : 0;
}

static int bench_open(struct bench *bench)
{
    int r = loop_open(&bench->loop);
    if (r < 0)
        return fault_set(bench->fault, -r, "opening an event loop: %m");
    char program[PATH_MAX];
    r = bench_find_beside("nothing", program, bench->fault);
    if (r == 0)
        r = bench_find_beside("../../sandbox/scope/code-sandbox-mcp-scope", bench->scope_program,
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
    for (size_t i = 0; i < ENGINE_COUNT; i++)
        engine_free(bench->engines[i]);
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
    const struct engine_enforcement *enforcement =
        engine_enforcement(bench.engines[ENGINE_GROUPING]);
    r = rows_make(enforcement->source != CGROUP_NONE, options, rows, fault);
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
    enum { OPTION_ROUNDS = 256, OPTION_JSON, OPTION_NO_LAYERS };
    static const struct option table[] = {
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"json", required_argument, NULL, OPTION_JSON},
        {"no-layers", no_argument, NULL, OPTION_NO_LAYERS},
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
        else if (option == OPTION_NO_LAYERS)
            ret_options->no_layers = true;
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
        fprintf(stderr,
                "Usage: bench-runs [--rounds N] [--json FILE] [--no-layers]\nN is 1 to %d (%d).\n",
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
