#include "sandbox/engine.h"

#include "sandbox/base/owned.h"
#include "sandbox/limited_sandbox.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run.h"
#include "sandbox/run_inputs.h"
#include "sandbox/warm_pool.h"

#include <grp.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* How limits can be enforced is found out before the first run. */
enum engine_stage { ENGINE_UNPROBED, ENGINE_PROBING, ENGINE_PROBED };

struct engine {
    struct sandbox_host host;
    unsigned parallel;
    struct jail_host jail_host;
    struct run_list running;
    struct run_list queued;
    size_t queued_bytes; /* run_held_bytes() of those in the queue */
    bool held;           /* no queued run may start */
    enum cgroup_use cgroup_use;
    const char *scope_program; /* borrowed, or NULL */
    const char *profile;       /* borrowed, or NULL */
    enum engine_stage stage;
    int64_t probed_at;          /* clock_now() */
    void (*probed)(void *data); /* observer of the probe, or NULL */
    void *probed_data;
    int status; /* of the probe; if negative, `fault` says why no run can start */
    struct fault fault;
    struct warm_pool pool;
    struct loop_timer pump; /* probes, and starts queued runs; never from a callback */
};

static void list_add(struct run_list *list, struct run *run)
{
    run->list = list;
    run->next = NULL;
    run->previous = list->last;
    if (list->last != NULL)
        list->last->next = run;
    else
        list->first = run;
    list->last = run;
    list->count++;
}

static void list_remove(struct run *run)
{
    struct run_list *list = run->list;
    if (run->previous != NULL)
        run->previous->next = run->next;
    else
        list->first = run->next;
    if (run->next != NULL)
        run->next->previous = run->previous;
    else
        list->last = run->previous;
    list->count--;
    run->list = NULL;
}

/*
 * Polling sees only memory that a process has mapped, but a descriptor alone can hold memory of
 * memfd_create(2). (None of our profiles allows shmget(2).)
 */
static const char *unpolled_call(const struct enforcement *enforced)
{
    return enforced->memory == ENFORCED_BY_CGROUP ? NULL : "memfd_create";
}

/* Compiles the filter once. If memory or descriptors are short, the next run tries again. */
static int compile_filter(struct engine *engine, struct fault *fault)
{
    struct filter *filter = &engine->host.filter;
    if (filter->length > 0)
        return 0;
    const char *without = unpolled_call(&engine->host.enforcement.enforced);
    int r = engine->profile == NULL
                ? filter_compile_default(without, filter, fault)
                : filter_compile(engine->profile, strlen(engine->profile), without, filter, fault);
    /* Releases libseccomp's memory: half of the pages whose tables each clone must copy. */
    malloc_trim(0);
    return r;
}

static void engine_probed(struct cgroup_delegation *cgroups)
{
    struct engine *engine = container_of(cgroups, struct engine, host.cgroups);
    unsigned controllers = cgroups->parent.subtree.controllers;
    struct enforcement *enforced = &engine->host.enforcement.enforced;
    enforced->memory = (controllers & CONTROLLER_MEMORY) ? ENFORCED_BY_CGROUP : ENFORCED_BY_POLLING;
    enforced->processes = (controllers & CONTROLLER_PIDS) ? ENFORCED_BY_CGROUP : ENFORCED_BY_RLIMIT;
    enforced->cpu = (controllers & CONTROLLER_CPU) ? ENFORCED_BY_CGROUP : ENFORCED_BY_POLLING;
    engine->host.enforcement.source = cgroups->source;
    engine->host.enforcement.fallback_reason = cgroups->fallback_reason;
    if (engine->cgroup_use == CGROUP_REQUIRED && !enforcement_is_cgroup(enforced)) {
        fault_identify(&engine->fault, "cgroup_required");
        engine->status =
            fault_set(&engine->fault, EOPNOTSUPP, "cgroups are required (--require-cgroup), but %s",
                      cgroups->fallback_reason.text);
    }
    engine->stage = ENGINE_PROBED;
    engine->probed_at = clock_now();
    loop_arm(engine->host.loop, &engine->pump, clock_now());
}

/* If the engine is busy, the end of the next run arms the timer again. */
static void engine_tidy(struct loop_timer *timer)
{
    struct engine *engine = container_of(timer, struct engine, host.cgroups.parent.tidy);
    if (engine->queued.count == 0 && engine->running.count == 0)
        cgroup_tidy(&engine->host.cgroups.parent);
}

static void start_probe(struct engine *engine)
{
    struct cgroup_delegation *cgroups = &engine->host.cgroups;
    engine->stage = ENGINE_PROBING;
    cgroups->parent.tidy.fire = engine_tidy;
    if (engine->cgroup_use == CGROUP_NEVER) {
        fault_set(&cgroups->fallback_reason, EOPNOTSUPP, "cgroups are switched off (--no-cgroup)");
        engine_probed(cgroups);
    } else {
        cgroup_delegation_probe(cgroups, engine->host.loop, engine->scope_program, engine_probed);
    }
}

/*
 * The service manager may have refused because it was busy: a long-lived server asks again, when no
 * run uses the present cgroup.
 */
static void forget_refusal(struct engine *engine)
{
    if (engine->stage != ENGINE_PROBED || !engine->host.cgroups.was_refused ||
        engine->running.count > 0 || engine->queued.count == 0 ||
        clock_now() - engine->probed_at < SCOPE_RETRY_MS * NANOSECONDS_PER_MILLISECOND)
        return;
    warm_pool_drain(&engine->pool);
    cgroup_delegation_release(&engine->host.cgroups);
    filter_release(&engine->host.filter);
    engine->host.cgroups = CGROUP_DELEGATION_NONE;
    engine->status = 0;
    engine->fault = (struct fault){0};
    engine->stage = ENGINE_UNPROBED;
}

static bool may_start(const struct engine *engine)
{
    return engine->queued.count > 0 && engine->running.count < engine->parallel && !engine->held;
}

static struct engine *engine_of(const struct run *run)
{
    return container_of(run->pool, struct engine, pool);
}

static void drop(struct run *run)
{
    list_remove(run);
    run_free(run);
}

static void engine_wake(struct engine *engine)
{
    if (may_start(engine))
        loop_arm(engine->host.loop, &engine->pump, clock_now());
    else
        warm_pool_wake(&engine->pool);
}

static void on_run_end(struct run *run)
{
    struct engine *engine = engine_of(run);
    drop(run);
    engine_wake(engine);
}

static int start_next(struct engine *engine, struct run *run, struct fault *fault)
{
    engine->queued_bytes -= run_held_bytes(run);
    list_remove(run);
    list_add(&engine->running, run);
    if (engine->status < 0) {
        fault_identify(fault, engine->fault.id);
        return fault_set(fault, -engine->status, "%s", engine->fault.text);
    }
    int r = compile_filter(engine, fault);
    if (r == 0)
        r = folder_guard_open(&run->guard, plan_jail(run->template.plan), fault);
    return r < 0 ? r : run_start(run, fault);
}

static void engine_pump(struct loop_timer *timer)
{
    struct engine *engine = container_of(timer, struct engine, pump);
    forget_refusal(engine);
    if (engine->stage == ENGINE_UNPROBED)
        start_probe(engine);
    if (engine->stage == ENGINE_PROBING)
        return;
    if (engine->probed != NULL)
        engine->probed(engine->probed_data);
    engine->probed = NULL;
    while (may_start(engine)) {
        struct run *run = engine->queued.first;
        struct fault fault = {0};
        int r = start_next(engine, run, &fault);
        if (r < 0) {
            run->observer.done(run->observer.data, r, NULL, &fault);
            drop(run);
        }
    }
}

/* Runs have priority: nothing is prewarmed while they keep all processors busy. */
static bool may_prewarm(const struct warm_pool *pool)
{
    const struct engine *engine = container_of(pool, struct engine, pool);
    return engine->queued.count == 0 && engine->running.count < engine->parallel &&
           engine->stage == ENGINE_PROBED && engine->status == 0;
}

void engine_hold(struct engine *engine, bool hold)
{
    engine->held = hold;
    engine_wake(engine);
}

static unsigned usable_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

/*
 * Each run takes several descriptors, and the usual soft limit is too low for many runs. If it
 * cannot be raised, the run that hits it reports that.
 */
static void raise_soft_limit(__rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

/* Drops privileges and settings that a child would inherit and could not drop itself. */
static int drop_inherited(const struct id_map *map, struct fault *fault)
{
    /* If the client ignored SIGCHLD, waiting for children would fail: wait(2). */
    signal(SIGCHLD, SIG_DFL);
    /* A program that closes its stdin must not end the server: pipe(7). */
    signal(SIGPIPE, SIG_IGN);
    /* Root's groups would stay in force in the new user namespace, which cannot drop them. */
    if (map->outside_uid != geteuid() && setgroups(0, NULL) < 0)
        return fault_set(fault, errno, "cannot leave root's supplementary groups: %m");
    /*
     * This process needs no set-user-id programs either; denying them limits an attacker who takes
     * it over.
     */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
        return fault_set(fault, errno, "cannot set no_new_privs: %m");
    return 0;
}

int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret_engine,
               struct fault *fault)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    if (engine == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the engine");
    engine->host.loop = loop;
    engine->parallel = options->parallel != 0 ? (unsigned)options->parallel : usable_processors();
    engine->pump.fire = engine_pump;
    engine->cgroup_use = options->cgroup;
    engine->scope_program = options->scope_program;
    engine->profile = options->profile;
    engine->host.cgroups = CGROUP_DELEGATION_NONE;
    warm_pool_open(&engine->pool, &engine->host, (unsigned)options->warm, may_prewarm);
    raise_soft_limit(RLIMIT_NOFILE);
    raise_soft_limit(RLIMIT_FSIZE);
    int r = id_map_choose(&engine->host.id_map, fault);
    if (r == 0)
        r = drop_inherited(&engine->host.id_map, fault);
    if (r == 0)
        r = jail_host_read(&engine->jail_host, fault);
    if (r < 0) {
        engine_free(engine);
        return r;
    }
    *ret_engine = engine;
    return 0;
}

void engine_free(struct engine *engine)
{
    if (engine == NULL)
        return;
    /* Kill all before waiting for the first. */
    for (struct run *run = engine->running.first; run != NULL; run = run->next)
        run_kill(run);
    while (engine->running.first != NULL)
        drop(engine->running.first);
    while (engine->queued.first != NULL)
        drop(engine->queued.first);
    loop_disarm(engine->host.loop, &engine->pump);
    warm_pool_close(&engine->pool);
    cgroup_delegation_release(&engine->host.cgroups);
    filter_release(&engine->host.filter);
    free(engine);
}

void engine_probe(struct engine *engine, void (*probed)(void *data), void *data)
{
    engine->probed = probed;
    engine->probed_data = data;
    loop_arm(engine->host.loop, &engine->pump, clock_now());
}

const struct engine_enforcement *engine_enforcement(const struct engine *engine)
{
    return engine->stage == ENGINE_PROBED ? &engine->host.enforcement : NULL;
}

int engine_landlock(const struct engine *engine)
{
    return engine->jail_host.landlock_abi;
}

size_t engine_running(const struct engine *engine)
{
    return engine->running.count;
}

size_t engine_queued(const struct engine *engine)
{
    return engine->queued.count;
}

/* A copy of the bytes of a run's stdin, if it has any. 0 or -ENOMEM. */
static int copy_stdin(const struct run_stdin *source, char **ret_bytes)
{
    if (source->kind != STDIN_BYTES || source->length == 0)
        return 0;
    *ret_bytes = malloc(source->length);
    if (*ret_bytes == NULL)
        return -ENOMEM;
    memcpy(*ret_bytes, source->bytes, source->length);
    return 0;
}

/* The run takes ownership of the plan. NULL: no memory. */
static struct run *run_new(struct engine *engine, const struct run_spec *spec, struct plan *plan,
                           const struct run_observer *observer)
{
    struct run *run = calloc(1, sizeof(*run));
    struct parcel parcel = {0};
    char *stdin_bytes = NULL;
    if (run == NULL || parcel_make(spec, &parcel) < 0 ||
        copy_stdin(&spec->stdin_source, &stdin_bytes) < 0) {
        plan_free(plan);
        parcel_release(&parcel);
        free(run);
        return NULL;
    }
    struct run_stdin stdin_source = spec->stdin_source;
    stdin_source.bytes = stdin_bytes;
    *run = (struct run){
        .host = &engine->host,
        .pool = &engine->pool,
        .template = {plan, spec->limits, spec->hold},
        .parcel = parcel,
        .stdin_bytes = stdin_bytes,
        .stdin_source = stdin_source,
        .guard = {.folders = spec->folders},
        /* What a writable folder needs is found out just before the run. */
        .may_be_warm = spec->may_be_warm && !folders_have(spec->folders, FOLDER_WRITABLE),
        .observer = *observer,
        .submitted_at = clock_now(),
        .attempt = ATTEMPT_NONE,
        .ended = on_run_end,
    };
    return run;
}

static int check_sizes(const struct run_spec *spec, struct fault *fault)
{
    if (spec->code_length > CODE_MAX)
        return fault_set(fault, E2BIG, "the code has %zu bytes; the maximum is %zu",
                         spec->code_length, (size_t)CODE_MAX);
    if (spec->stdin_source.length > STDIN_MAX)
        return fault_set(fault, E2BIG, "stdin has %zu bytes; the maximum is %zu",
                         spec->stdin_source.length, (size_t)STDIN_MAX);
    return run_inputs_check(spec->inputs, spec->input_count, spec->code_name, fault);
}

int engine_submit(struct engine *engine, const struct run_spec *spec,
                  const struct run_observer *observer, struct run **ret_run, struct fault *fault)
{
    int r = check_sizes(spec, fault);
    if (r < 0)
        return r;
    if (engine->queued.count >= RUNS_QUEUED_MAX ||
        parcel_size(spec) + spec->stdin_source.length >
            RUNS_QUEUED_BYTES_MAX - engine->queued_bytes) {
        fault_identify(fault, "queue_full");
        return fault_set(fault, EAGAIN,
                         "%zu runs are waiting already; try again when some have ended",
                         engine->queued.count);
    }
    const struct plan_inputs inputs = {
        .spec = spec,
        .host = &engine->jail_host,
    };
    struct plan *plan = NULL;
    r = plan_build(&inputs, &plan, fault);
    if (r < 0)
        return r;
    struct run *run = run_new(engine, spec, plan, observer);
    if (run == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a run");
    list_add(&engine->queued, run);
    engine->queued_bytes += run_held_bytes(run);
    engine_wake(engine);
    if (ret_run != NULL)
        *ret_run = run;
    return 0;
}

bool engine_is_queued(const struct run *run)
{
    return run->list == &engine_of(run)->queued;
}

void engine_check_limits(struct run *run)
{
    run_check_limits(run);
}

void engine_cancel(struct run *run)
{
    if (engine_is_queued(run)) {
        engine_of(run)->queued_bytes -= run_held_bytes(run);
        drop(run);
        return;
    }
    /*
     * Does not wait for the end: the loop has others to serve. At the end there is no observer to
     * call.
     */
    run_abandon(run);
}
