#include "sandbox/engine.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/proc_file.h"
#include "sandbox/limits/limits.h"

#include <grp.h>
#include <linux/landlock.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

/* One run alone must not bring the machine to its knees. */
static uint64_t default_memory(void)
{
    struct sysinfo machine;
    if (sysinfo(&machine) < 0)
        return RUN_MEMORY_DEFAULT;
    uint64_t half = (uint64_t)machine.totalram * machine.mem_unit / 2;
    if (half < RUN_MEMORY_MIN)
        return RUN_MEMORY_MIN;
    return half < RUN_MEMORY_DEFAULT ? half : RUN_MEMORY_DEFAULT;
}

struct run_limits run_limits_default(void)
{
    return (struct run_limits){
        .wall_ms = RUN_WALL_DEFAULT_MS,
        .memory_bytes = default_memory(),
        .disk_bytes = RUN_DISK_DEFAULT,
        .inodes = RUN_INODES_DEFAULT,
        .processes = RUN_PROCESSES_DEFAULT,
        .millicpus = RUN_MILLICPUS_DEFAULT,
        .descriptors = RUN_DESCRIPTORS_DEFAULT,
        .output_kept = RUN_OUTPUT_KEPT_DEFAULT,
        .output_total = RUN_OUTPUT_TOTAL_DEFAULT,
    };
}

void run_list_add(struct run_list *list, struct run *run)
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

void run_list_remove(struct run *run)
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
 * Where memory is only watched, none may hide: that of memfd_create(2) is held by descriptors, and
 * no process has to have it mapped. (shmget(2) is in no profile of ours.)
 */
static const char *unwatched_call(const struct enforcement *enforced)
{
    return enforced->memory == ENFORCED_BY_CGROUP ? NULL : "memfd_create";
}

/* Once; should memory or descriptors be short just then, the next run tries again. */
static int compile_filter(struct engine *engine, struct fault *fault)
{
    if (engine->filter.length > 0)
        return 0;
    const char *without = unwatched_call(&engine->enforcement.enforced);
    int r = engine->profile == NULL ? filter_compile_default(without, &engine->filter, fault)
                                    : filter_compile(engine->profile, strlen(engine->profile),
                                                     without, &engine->filter, fault);
    /* What libseccomp took meanwhile: it is half of the pages that every clone has to look at. */
    malloc_trim(0);
    return r;
}

static void engine_probed(struct cgroup_delegation *home)
{
    struct engine *engine = container_of(home, struct engine, home);
    unsigned controllers = home->subtree.controllers;
    struct enforcement *enforced = &engine->enforcement.enforced;
    enforced->memory = (controllers & CONTROLLER_MEMORY) ? ENFORCED_BY_CGROUP : ENFORCED_BY_POLLING;
    enforced->processes = (controllers & CONTROLLER_PIDS) ? ENFORCED_BY_CGROUP : ENFORCED_BY_RLIMIT;
    enforced->cpu = (controllers & CONTROLLER_CPU) ? ENFORCED_BY_CGROUP : ENFORCED_BY_POLLING;
    engine->enforcement.source = home->source;
    engine->enforcement.fallback_reason = home->fallback_reason;
    if (engine->cgroup_use == CGROUP_REQUIRED && !enforcement_is_cgroup(enforced))
        engine->status =
            fault_set(&engine->fault, EOPNOTSUPP, "cgroups are required (--require-cgroup), but %s",
                      home->fallback_reason.text);
    engine->stage = ENGINE_PROBED;
    engine->probed_at = clock_now();
    loop_arm(engine->loop, &engine->pump, clock_now());
}

/* Else it comes again at the end of what goes on. */
static void engine_tidy(struct loop_timer *timer)
{
    struct engine *engine = container_of(timer, struct engine, home.tidy);
    if (engine->queued.count == 0 && engine->running.count == 0)
        cgroup_tidy(&engine->home);
}

static void settle(struct engine *engine)
{
    engine->stage = ENGINE_PROBING;
    engine->home.tidy.fire = engine_tidy;
    if (engine->cgroup_use == CGROUP_NEVER) {
        fault_set(&engine->home.fallback_reason, EOPNOTSUPP,
                  "cgroups are switched off (--no-cgroup)");
        engine_probed(&engine->home);
    } else {
        cgroup_delegation_probe(&engine->home, engine->loop, engine->scope_program, engine_probed);
    }
}

/*
 * A manager that was asked and gave nothing may have been busy: a server that lives long asks again, at
 * a moment when no run needs what there is.
 */
static void forget_refusal(struct engine *engine)
{
    if (engine->stage != ENGINE_PROBED || !engine->home.was_refused || engine->running.count > 0 ||
        engine->queued.count == 0 ||
        clock_now() - engine->probed_at < ASK_AGAIN_MS * NANOSECONDS_PER_MILLISECOND)
        return;
    warm_pool_drain(&engine->pool);
    cgroup_delegation_release(&engine->home);
    filter_release(&engine->filter);
    engine->home = CGROUP_DELEGATION_NONE;
    engine->status = 0;
    engine->fault.text[0] = '\0';
    engine->stage = ENGINE_UNPROBED;
}

/* The next run, or why it cannot be. */
static int start_next(struct engine *engine, struct run *run)
{
    engine->queued_bytes -= run->code_length;
    run_list_remove(run);
    run_list_add(&engine->running, run);
    if (engine->status < 0)
        return fault_set(&run->fault, -engine->status, "%s", engine->fault.text);
    int r = compile_filter(engine, &run->fault);
    return r < 0 ? r : run_start(run);
}

static bool may_start(const struct engine *engine)
{
    return engine->queued.count > 0 && engine->running.count < engine->parallel && !engine->held;
}

static void engine_pump(struct loop_timer *timer)
{
    struct engine *engine = container_of(timer, struct engine, pump);
    forget_refusal(engine);
    if (engine->stage == ENGINE_UNPROBED)
        settle(engine);
    if (engine->stage == ENGINE_PROBING)
        return;
    if (engine->probed != NULL)
        engine->probed(engine->probed_data);
    engine->probed = NULL;
    while (may_start(engine)) {
        struct run *run = engine->queued.first;
        int r = start_next(engine, run);
        if (r < 0) {
            run->observer.done(run->observer.data, r, NULL, &run->fault);
            run_free(run);
        }
    }
}

void engine_wake(struct engine *engine)
{
    if (may_start(engine))
        loop_arm(engine->loop, &engine->pump, clock_now());
    else
        warm_pool_wake(&engine->pool);
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
 * Several descriptors a run: many at once pass the soft limit that most logins have. Where it cannot
 * be raised it holds, and a run that meets it says so.
 */
static void raise_soft_limit(__rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

/*
 * 0 where the kernel has no Landlock, or one before version 2 (Linux 5.19), under which no file could
 * be moved from one directory to another: landlock(7).
 */
static int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi >= 2 ? (int)abi : 0;
}

/* What a child would inherit and could not undo. */
static int drop_inherited(const struct id_map *map, struct fault *fault)
{
    /* A client may have ignored SIGCHLD, and then nobody's end could be waited for: wait(2). */
    signal(SIGCHLD, SIG_DFL);
    /* Root's groups reach into the new user namespace, where they could not be left any more. */
    if (map->outside_uid != geteuid() && setgroups(0, NULL) < 0)
        return fault_set(fault, errno, "cannot leave root's supplementary groups: %m");
    /* This process needs nothing of set-user-id programs either, whatever becomes of it. */
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
    engine->loop = loop;
    engine->parallel = options->parallel != 0 ? options->parallel : usable_processors();
    engine->last_capability = cap_max_bits() - 1;
    engine->landlock_abi = landlock_abi();
    engine->pump.fire = engine_pump;
    engine->cgroup_use = options->cgroup;
    engine->scope_program = options->scope_program;
    engine->profile = options->profile;
    engine->home = CGROUP_DELEGATION_NONE;
    warm_pool_open(&engine->pool, engine, options->warm);
    raise_soft_limit(RLIMIT_NOFILE);
    raise_soft_limit(RLIMIT_FSIZE);
    int r = id_map_choose(&engine->id_map, fault);
    if (r == 0)
        r = drop_inherited(&engine->id_map, fault);
    if (r == 0)
        r = proc_file_find_command_line(&engine->command_line, &engine->command_line_size, fault);
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
    /* All are told to die before the first is waited for. */
    for (struct run *run = engine->running.first; run != NULL; run = run->next)
        run_kill(run);
    while (engine->running.first != NULL)
        run_free(engine->running.first);
    while (engine->queued.first != NULL)
        run_free(engine->queued.first);
    loop_disarm(engine->loop, &engine->pump);
    warm_pool_close(&engine->pool);
    cgroup_delegation_release(&engine->home);
    filter_release(&engine->filter);
    free(engine);
}

void engine_probe(struct engine *engine, void (*probed)(void *data), void *data)
{
    engine->probed = probed;
    engine->probed_data = data;
    loop_arm(engine->loop, &engine->pump, clock_now());
}

const struct engine_enforcement *engine_enforcement(const struct engine *engine)
{
    return engine->stage == ENGINE_PROBED ? &engine->enforcement : NULL;
}

size_t engine_running(const struct engine *engine)
{
    return engine->running.count;
}

size_t engine_queued(const struct engine *engine)
{
    return engine->queued.count;
}

int run_submit(struct engine *engine, const struct run_spec *spec,
               const struct run_observer *observer, struct run **ret_run, struct fault *fault)
{
    if (spec->code_length > CODE_MAX)
        return fault_set(fault, E2BIG, "the code has %zu bytes; at most %zu are taken",
                         spec->code_length, (size_t)CODE_MAX);
    if (engine->queued.count >= RUNS_QUEUED_MAX ||
        spec->code_length > RUNS_QUEUED_BYTES_MAX - engine->queued_bytes)
        return fault_set(fault, EAGAIN,
                         "%zu runs are waiting already; try again when some have ended",
                         engine->queued.count);
    struct run *run = calloc(1, sizeof(*run));
    char *code = malloc(spec->code_length + 1);
    if (run == NULL || code == NULL) {
        free(run);
        free(code);
        return fault_set(fault, ENOMEM, "out of memory for a run");
    }
    memcpy(code, spec->code, spec->code_length);
    *run = (struct run){
        .engine = engine,
        .code = code,
        .code_length = spec->code_length,
        .cold = !spec->may_be_warm,
        .limits = spec->limits,
        .observer = *observer,
        .sandbox = SANDBOX_NONE,
        .limiter = LIMITER_NONE,
        .control.fd = -1,
        .out.fd = -1,
        .err.fd = -1,
        .end.fd = -1,
    };
    const struct plan_inputs inputs = {
        .spec = spec,
        .last_capability = engine->last_capability,
        .landlock_abi = engine->landlock_abi,
        .command_line = engine->command_line,
        .command_line_size = engine->command_line_size,
    };
    run->submitted_at = clock_now();
    run_list_add(&engine->queued, run);
    engine->queued_bytes += run->code_length;
    int r = plan_build(&inputs, &run->plan, fault);
    if (r < 0) {
        run_cancel(run);
        return r;
    }
    run->hold_release = spec->hold.release;
    run->hold_data = spec->hold.data;
    engine_wake(engine);
    if (ret_run != NULL)
        *ret_run = run;
    return 0;
}

bool run_is_queued(const struct run *run)
{
    return run->list == &run->engine->queued;
}

void run_cancel(struct run *run)
{
    struct engine *engine = run->engine;
    if (run_is_queued(run)) {
        engine->queued_bytes -= run->code_length;
        run_free(run);
        return;
    }
    /* Not waited for here: the loop has others to serve. on_end() finds nobody to tell. */
    run->observer = (struct run_observer){0};
    run_kill(run);
}
