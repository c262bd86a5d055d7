#include "sandbox/engine.h"

#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/inherited.h"
#include "sandbox/limited_sandbox.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run.h"
#include "sandbox/run_inputs.h"
#include "sandbox/run_state.h"
#include "sandbox/session_lane.h"
#include "sandbox/warm_pool.h"

#include <stddef.h>
#include <string.h>

/* How limits can be enforced is found out before the first run. */
enum engine_stage { ENGINE_UNPROBED, ENGINE_PROBING, ENGINE_PROBED };

struct engine {
    struct sandbox_host host;
    unsigned parallel;
    struct jail_host jail_host;
    struct run_list running;
    struct run_list queued;
    struct run_list session_runs; /* started */
    struct session *sessions;     /* all */
    size_t cells;                 /* sessions with a place */
    size_t queued_bytes; /* run_held_bytes() of those in the queue */
    bool held;           /* no queued run may start */
    enum cgroup_use cgroup_use;
    const char *scope_program; /* borrowed, or NULL */
    const char *profile;       /* borrowed, or NULL */
    enum engine_stage stage;
    int64_t probed_at;          /* clock_now() */
    void (*probed)(void *data); /* observer of the probe, or NULL */
    void *probed_data;
    void (*has_room)(void *data); /* engine_options.has_room */
    void *has_room_data;
    int status; /* of the probe; if negative, `fault` says why no run can start */
    struct fault fault;
    struct warm_pool pool;
    struct loop_timer pump; /* probes, and starts queued runs; never from a callback */
};

/* Appends a run that is in no list. */
static void list_add(struct run_list *list, struct run *run)
{
    run->list = list;
    QUEUE_APPEND(list, run);
    list->count++;
}

static void list_remove(struct run *run)
{
    struct run_list *list = run->list;
    QUEUE_REMOVE(list, run);
    list->count--;
    run->list = NULL;
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
    engine->status = enforcement_check(enforced, engine->cgroup_use == CGROUP_REQUIRED,
                                       &cgroups->fallback_reason, &engine->fault);
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

/* The session whose cell has waited longest for a place; NULL: none. */
static struct session *first_waiting(const struct engine *engine)
{
    struct session *first = NULL;
    for (struct session *session = engine->sessions; session != NULL; session = session->next) {
        if (session->wanted_at != 0 && (first == NULL || session->wanted_at < first->wanted_at))
            first = session;
    }
    return first;
}

static bool has_waiting(const struct engine *engine)
{
    return engine->queued.count > 0 || first_waiting(engine) != NULL;
}

static bool has_place(const struct engine *engine)
{
    return engine->running.count + engine->cells < engine->parallel;
}

/*
 * The service manager may have refused because it was busy: a long-lived server asks again, when no
 * run uses the present cgroup.
 */
static void forget_refusal(struct engine *engine)
{
    if (engine->stage != ENGINE_PROBED || !engine->host.cgroups.was_refused ||
        engine->running.count > 0 || engine->session_runs.count > 0 || !has_waiting(engine) ||
        clock_now() - engine->probed_at < SCOPE_RETRY_MS * NANOSECONDS_PER_MILLISECOND)
        return;
    warm_pool_drain(&engine->pool);
    cgroup_delegation_release(&engine->host.cgroups);
    sandbox_host_release_filters(&engine->host);
    engine->host.cgroups = CGROUP_DELEGATION_NONE;
    engine->status = 0;
    engine->fault = (struct fault){0};
    engine->stage = ENGINE_UNPROBED;
}

static bool may_start(const struct engine *engine)
{
    return has_waiting(engine) && has_place(engine) && !engine->held;
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

/* One that has been answered changes nothing any more. */
static void join_guards(struct run *run, const struct run_list *others)
{
    for (const struct run *other = others->first; other != NULL; other = other->next)
        if (other->attempt.stage != ATTEMPT_ANSWERED)
            folder_guard_join(&run->guard, &other->guard);
}

static int start_run(struct engine *engine, struct run *run, struct fault *fault)
{
    if (engine->status < 0) {
        fault_identify(fault, engine->fault.id);
        return fault_set(fault, -engine->status, "%s", engine->fault.text);
    }
    int r = sandbox_host_compile_filter(&engine->host, &engine->jail_host, engine->profile, fault);
    if (r == 0)
        r = folder_guard_open(&run->guard, plan_jail(run->design.plan), fault);
    if (r < 0)
        return r;
    join_guards(run, &engine->running);
    join_guards(run, &engine->session_runs);
    return run_start(run, fault);
}

/* Starts the run or the cell that has waited longest. */
static void start_next(struct engine *engine)
{
    struct run *run = engine->queued.first;
    struct session *session = first_waiting(engine);
    if (session != NULL && (run == NULL || session->wanted_at <= run->submitted_at)) {
        engine->cells++;
        session_go(session);
        return;
    }
    engine->queued_bytes -= run_held_bytes(run);
    list_remove(run);
    list_add(&engine->running, run);
    struct fault fault = {0};
    int r = start_run(engine, run, &fault);
    if (r == 0)
        return;
    run->observer.done(run->observer.data, r, NULL, &fault);
    drop(run);
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
    while (may_start(engine))
        start_next(engine);
    if (engine->has_room != NULL)
        engine->has_room(engine->has_room_data);
}

/* Runs have priority: nothing is prewarmed while they keep all processors busy. */
static bool may_prewarm(const struct warm_pool *pool)
{
    const struct engine *engine = container_of(pool, struct engine, pool);
    return !has_waiting(engine) && has_place(engine) && engine->stage == ENGINE_PROBED &&
           engine->status == 0;
}

void engine_hold(struct engine *engine, bool hold)
{
    engine->held = hold;
    engine_wake(engine);
}

int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret_engine,
               struct fault *fault)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    if (engine == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the engine");
    engine->host.loop = loop;
    engine->parallel =
        options->parallel != 0 ? (unsigned)options->parallel : inherited_processors();
    engine->pump.fire = engine_pump;
    engine->cgroup_use = options->cgroup;
    engine->scope_program = options->scope_program;
    engine->profile = options->profile;
    engine->has_room = options->has_room;
    engine->has_room_data = options->has_room_data;
    engine->host.appeared = options->appeared;
    engine->host.appeared_data = options->appeared_data;
    engine->host.prewarm_failed = options->prewarm_failed;
    engine->host.has_profile = options->profile != NULL;
    char more[FILTER_CALL_SIZE]; /* than the filter of a template, which its forks have besides */
    engine->host.has_templates =
        options->templates && filter_is_within_default(options->profile, more);
    engine->host.cgroups = CGROUP_DELEGATION_NONE;
    engine->host.uppers = UPPER_STORE_NONE;
    engine->host.roots = RUN_ROOT_STORE_NONE;
    warm_pool_open(&engine->pool, &engine->host, (unsigned)options->warm, may_prewarm);
    inherited_raise_descriptors();
    int r = id_map_choose(&engine->host.id_map, fault);
    if (r == 0)
        r = inherited_drop(&engine->host.id_map, fault);
    if (r == 0 && options->network_policy != NULL)
        r = network_check_tier(options->tier, fault);
    if (r == 0 && options->network_policy != NULL)
        r = network_new(options->network_policy, options->network_program, &engine->host.network,
                        fault);
    if (r == 0)
        r = jail_host_read(&engine->jail_host, fault);
    engine->jail_host.tier = options->tier;
    if (r == 0 && options->uppers != NULL)
        r = upper_store_open(&engine->host.uppers, options->uppers, fault);
    if (r == 0 && options->tier >= TIER_C)
        r = run_root_store_open(&engine->host.roots, options->roots, fault);
    if (r < 0) {
        engine_free(engine);
        return r;
    }
    *ret_engine = engine;
    return 0;
}

/* Frees the session and its run. */
static void forget_session(struct session *session)
{
    struct run *run = session->run;
    LIST_REMOVE(engine_of(run)->sessions, session);
    session_free(session);
    if (run->list != NULL)
        list_remove(run);
    run_free(run);
}

void engine_free(struct engine *engine)
{
    if (engine == NULL)
        return;
    /* Kill all before waiting for the first. */
    for (struct run *run = engine->running.first; run != NULL; run = run->next)
        run_kill(run);
    for (struct run *run = engine->session_runs.first; run != NULL; run = run->next)
        run_kill(run);
    while (engine->sessions != NULL)
        forget_session(engine->sessions);
    while (engine->running.first != NULL)
        drop(engine->running.first);
    while (engine->queued.first != NULL)
        drop(engine->queued.first);
    loop_disarm(engine->host.loop, &engine->pump);
    warm_pool_close(&engine->pool);
    upper_store_close(&engine->host.uppers);
    run_root_store_close(&engine->host.roots);
    cgroup_delegation_release(&engine->host.cgroups);
    sandbox_host_release_filters(&engine->host);
    network_free(engine->host.network);
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

const char *engine_template_failure(const struct engine *engine)
{
    return engine->pool.template_failure;
}

struct engine_counts engine_counts(const struct engine *engine)
{
    return (struct engine_counts){engine->running.count, engine->queued.count};
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
        .design = {.plan = plan,
                   .limits = spec->limits,
                   .hold = spec->hold,
                   .has_no_network = spec->has_no_network},
        .parcel = parcel,
        .stdin_bytes = stdin_bytes,
        .stdin_source = stdin_source,
        .guard = {.folders = spec->folders},
        /* What a writable folder needs is found out just before the run. */
        .may_be_warm = spec->may_be_warm && !folders_have(spec->folders, FOLDER_WRITABLE),
        .files_max = spec->files_max,
        .observer = *observer,
        .submitted_at = clock_now(),
        .attempt = ATTEMPT_NONE,
        .ended = on_run_end,
    };
    return run;
}

/* Whether a run of so many bytes has to come back later. One that is alone may have any number. */
static bool is_full(const struct engine *engine, size_t bytes)
{
    return engine->queued.count >= RUNS_QUEUED_MAX ||
           (engine->queued.count > 0 && bytes + engine->queued_bytes > RUNS_QUEUED_BYTES_MAX);
}

int engine_submit(struct engine *engine, const struct run_spec *spec,
                  const struct run_observer *observer, struct run **ret_run, struct fault *fault)
{
    int r = run_inputs_check_sizes(spec, fault);
    if (r < 0)
        return r;
    if (is_full(engine, parcel_size(spec) + spec->stdin_source.length)) {
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

int engine_signal(struct run *run, int signal_number)
{
    return engine_is_queued(run) ? -ESRCH : run_signal(run, signal_number);
}

void engine_stop(struct run *run)
{
    run_stop(run, OUTCOME_CANCELLED);
}

void engine_check_limits(struct run *run)
{
    run_check_limits(run);
}

void engine_cancel(struct run *run)
{
    struct engine *engine = engine_of(run);
    if (engine_is_queued(run)) {
        engine->queued_bytes -= run_held_bytes(run);
        drop(run);
        loop_arm(engine->host.loop, &engine->pump, clock_now());
        return;
    }
    /*
     * Does not wait for the end: the loop has others to serve. At the end there is no observer to
     * call.
     */
    run_abandon(run);
}

static void on_session_end(struct run *run)
{
    struct engine *engine = engine_of(run);
    forget_session(run->session);
    engine_wake(engine);
}

static int start_session(struct session *session, struct fault *fault)
{
    struct engine *engine = engine_of(session->run);
    list_add(&engine->session_runs, session->run);
    return start_run(engine, session->run, fault);
}

static void on_wants_place(struct session *session)
{
    engine_wake(engine_of(session->run));
}

static void on_leaves_place(struct session *session)
{
    struct engine *engine = engine_of(session->run);
    engine->cells--;
    engine_wake(engine);
}

int engine_open_session(struct engine *engine, const struct session_spec *spec,
                        const struct session_observer *observer, struct session **ret_session,
                        struct fault *fault)
{
    const struct plan_inputs inputs = {.spec = &spec->run, .host = &engine->jail_host};
    struct plan *plan = NULL;
    int r = plan_build(&inputs, &plan, fault);
    if (r < 0)
        return r;
    struct run *run = run_new(engine, &spec->run, plan, &(struct run_observer){0});
    struct session *session = run != NULL ? session_new(&engine->host, run, spec, observer) : NULL;
    if (session == NULL) {
        if (run != NULL) {
            run->design.hold = (struct run_hold){0}; /* still the caller's */
            run_free(run);
        }
        return fault_set(fault, ENOMEM, "out of memory for a session");
    }
    run->ended = on_session_end;
    session->start = start_session;
    session->forget = forget_session;
    session->wants_place = on_wants_place;
    session->leaves_place = on_leaves_place;
    LIST_PREPEND(engine->sessions, session);
    *ret_session = session;
    return 0;
}

int engine_add_lane(struct session *session, const struct session_spec *spec, unsigned *ret_lane,
                    struct fault *fault)
{
    const struct plan_inputs inputs = {.spec = &spec->run,
                                       .host = &engine_of(session->run)->jail_host};
    struct plan *plan = NULL;
    int r = plan_build(&inputs, &plan, fault);
    if (r < 0)
        return r;
    r = session_add_lane(session, spec, plan, ret_lane);
    if (r < 0)
        plan_free(plan);
    return r < 0 ? fault_set(fault, -r, "adding a program to a session: %m") : 0;
}

bool engine_expect_session(struct engine *engine, const struct session_spec *spec)
{
    const struct plan_inputs inputs = {.spec = &spec->run, .host = &engine->jail_host};
    OWNED(sandbox_design_release)
    struct sandbox_design design = {.limits = spec->run.limits};
    /* What a run may change is looked at just before it. */
    if (folders_have(spec->run.folders, FOLDER_WRITABLE) ||
        plan_build(&inputs, &design.plan, NULL) < 0)
        return false;
    sandbox_host_lower_limits(&engine->host, &design.limits);
    if (warm_pool_knows(&engine->pool, &design) ||
        (spec->run.session == SESSION_LIVE && parcel_make(&spec->run, &design.runner) < 0))
        return false;
    design.hold = spec->run.hold;
    warm_pool_learn(&engine->pool, &design);
    return true;
}
