#include "sandbox/warm_pool.h"

#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/setup_error.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/meminfo.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

struct warm_sandbox {
    struct warm_kind *kind;
    struct warm_sandbox *previous, *next;
    struct limited_sandbox limited;
    struct loop_watch control, end; /* any event means that the sandbox has become unusable */
    bool follows_failure; /* that was told */
};

struct warm_kind {
    struct warm_pool *pool;
    struct warm_kind *previous, *next;
    struct sandbox_design design;
    struct warm_sandbox *sandboxes; /* owned, the oldest first */
    size_t count;
    int64_t used_at; /* clock_now() of the last run */
    bool is_barred; /* one, or its template, was past its limits: no more until a run completes */
    unsigned failures; /* starts that failed, and early ends, since a run has completed */
    int64_t retry_at; /* clock_now(), after a failure: when it may go on; 0: it may */
    bool is_told; /* that it has failed; until a sandbox made since is taken */
    struct interpreter_template *template_of_forks; /* owned; NULL: none, or not yet */
    bool is_forked; /* its sandboxes are forks; false for a while once that has failed repeatedly */
    unsigned template_failures; /* without a quiet minute between them */
    int64_t template_failed_at; /* clock_now() of the last */
};

static void warm_sandbox_free(struct warm_sandbox *warm)
{
    struct warm_kind *kind = warm->kind;
    struct loop *loop = kind->pool->host->loop;
    LIST_REMOVE(kind->sandboxes, warm);
    kind->count--;
    loop_unwatch(loop, &warm->control);
    loop_unwatch(loop, &warm->end);
    limited_sandbox_release(&warm->limited);
    free(warm);
}

static void kind_drain(struct warm_kind *kind)
{
    /* All are killed before the first is waited for. */
    for (struct warm_sandbox *warm = kind->sandboxes; warm != NULL; warm = warm->next)
        limited_sandbox_kill(&warm->limited);
    while (kind->sandboxes != NULL)
        warm_sandbox_free(kind->sandboxes);
}

static void give_up_template(struct warm_kind *kind)
{
    template_give_up(kind->template_of_forks);
    kind->template_of_forks = NULL;
}

static void kind_free(struct warm_kind *kind)
{
    kind_drain(kind);
    give_up_template(kind);
    LIST_REMOVE(kind->pool->kinds, kind);
    sandbox_design_release(&kind->design);
    free(kind);
}

/* 1, 2, 4 ... WARM_RETRY_MAX_MS after the failures. */
static int64_t retry_ms(unsigned failures)
{
    int64_t wait = WARM_RETRY_MS;
    while (--failures > 0 && wait < WARM_RETRY_MAX_MS)
        wait *= 2;
    return wait < WARM_RETRY_MAX_MS ? wait : WARM_RETRY_MAX_MS;
}

/* What fails together counts once. */
static void postpone(struct warm_kind *kind)
{
    if (kind->retry_at == 0)
        kind->retry_at = clock_now() + retry_ms(++kind->failures) * NANOSECONDS_PER_MILLISECOND;
}

static void note_failure(struct warm_kind *kind, const struct fault *fault)
{
    const struct sandbox_host *host = kind->pool->host;
    postpone(kind);
    if (!kind->is_told && host->prewarm_failed != NULL)
        host->prewarm_failed(fault);
    kind->is_told = true;
}

static void warm_sandbox_fail(struct warm_sandbox *warm, const struct fault *fault)
{
    struct warm_kind *kind = warm->kind;
    warm_sandbox_free(warm);
    note_failure(kind, fault);
}

/* It is of no use any more: its report says why, if it has failed. */
static void warm_sandbox_end(struct warm_sandbox *warm)
{
    struct fault fault = {0};
    struct child_report report;
    bool has_joined = true;
    while (sandbox_read_report(&warm->limited.sandbox, &report) == 0) {
        if (report.kind != REPORT_FAILED)
            continue;
        setup_error_explain(plan_jail(warm->kind->design.plan), &report, &fault);
        has_joined = report.step != STEP_JOIN;
    }
    fault_set(&fault, ECHILD, "it ended before a call came");
    note_failure(warm->kind, &fault);
    if (!has_joined)
        template_note_failure(&warm->limited);
    warm_sandbox_free(warm);
}

static void on_control(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    warm_sandbox_end(container_of(watch, struct warm_sandbox, control));
}

static void on_end(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    warm_sandbox_end(container_of(watch, struct warm_sandbox, end));
}

static bool is_session(const struct sandbox_design *design)
{
    return plan_jail(design->plan)->session != SESSION_NONE;
}

static bool is_ready(const struct warm_kind *kind)
{
    return kind->template_of_forks != NULL &&
           template_stage(kind->template_of_forks) == TEMPLATE_READY;
}

/* False: it has to be started. */
static bool make_fork(struct warm_kind *kind, struct limited_sandbox *ret_limited)
{
    struct limited_sandbox limited = LIMITED_SANDBOX_NONE;
    if (!kind->is_forked || !is_ready(kind))
        return false;
    if (template_fork(kind->template_of_forks, &kind->design, &limited) < 0) {
        limited_sandbox_release(&limited);
        return false;
    }
    *ret_limited = limited;
    return true;
}

/* Once they are known, which is after the first run. */
static void lower_limits(struct warm_kind *kind)
{
    sandbox_host_lower_limits(kind->pool->host, &kind->design.limits);
}

static int warm_sandbox_start(struct warm_sandbox *warm, struct fault *fault)
{
    struct sandbox_host *host = warm->kind->pool->host;
    struct sandbox *sandbox = &warm->limited.sandbox;
    struct sandbox_design *design = &warm->kind->design;
    lower_limits(warm->kind);
    int r = make_fork(warm->kind, &warm->limited)
                ? 0
                : limited_sandbox_start(&warm->limited, host, design, fault);
    if (r == 0 && design->runner.bytes != NULL)
        r = sandbox_feed(sandbox, &design->runner, fault);
    /* What a session reports, that its jail is complete, is for the one that takes it. */
    if (r == 0 && !is_session(design))
        r = loop_watch(host->loop, &warm->control, sandbox->control_fd, EPOLLIN);
    if (r == 0)
        r = loop_watch(host->loop, &warm->end, sandbox->pidfd, EPOLLIN);
    return r == 0 ? 0 : fault_set(fault, -r, "waiting for a sandbox: %m");
}

static void kind_add(struct warm_kind *kind)
{
    struct fault fault = {0};
    struct warm_sandbox *warm = malloc(sizeof(*warm));
    if (warm == NULL) {
        fault_set(&fault, ENOMEM, "a sandbox: %m");
        note_failure(kind, &fault);
        return;
    }
    *warm = (struct warm_sandbox){
        .kind = kind,
        .limited = LIMITED_SANDBOX_NONE,
        .control = {.fd = -1, .ready = on_control},
        .end = {.fd = -1, .ready = on_end},
        .follows_failure = kind->is_told,
    };
    LIST_APPEND(kind->sandboxes, warm);
    kind->count++;
    if (warm_sandbox_start(warm, &fault) < 0)
        warm_sandbox_fail(warm, &fault);
}

/* In the end its sandboxes are started as others are, for a while. */
static void note_template_failure(struct warm_kind *kind, const char *why)
{
    struct fault fault = {0};
    if (why[0] != '\0')
        fault_set(&fault, ECHILD, "none can be forked: %s (--template off starts each)", why);
    else
        fault_set(&fault, ECHILD, "its template has ended");
    note_failure(kind, &fault);
    kind->is_forked = ++kind->template_failures < TEMPLATE_FAILURES_MAX;
    kind->template_failed_at = clock_now();
    if (!kind->is_forked)
        kind->retry_at = 0;
}

/* Whether none has failed for a while. Each failure may have held up the loop: FORK_MAX_MS. */
static bool is_steady(const struct warm_kind *kind)
{
    int64_t age = clock_now() - kind->template_failed_at;
    return age >= TEMPLATE_RETRY_MS * NANOSECONDS_PER_MILLISECOND;
}

/* Whether to start one. Where none has failed and no sandbox is forked, the kind has none. */
static bool may_have_template(const struct warm_kind *kind)
{
    return kind->is_forked || (kind->template_failures > 0 && is_steady(kind));
}

static void on_template_change(void *data)
{
    struct warm_kind *kind = data;
    if (is_ready(kind)) {
        kind->is_forked = true;
        kind_drain(kind); /* what is left of its predecessor, or was started */
    } else {
        const char *failure = template_failure(kind->template_of_forks);
        if (failure[0] != '\0')
            snprintf(kind->pool->template_failure, sizeof(kind->pool->template_failure), "%s",
                     failure);
        note_template_failure(kind, failure);
        give_up_template(kind);
    }
    warm_pool_wake(kind->pool);
}

/* Also when all processors are busy: it pays for itself with the second fork. */
static void start_template(struct warm_kind *kind)
{
    if (!may_have_template(kind) || kind->template_of_forks != NULL)
        return;
    if (meminfo_read().is_low) {
        postpone(kind);
        return;
    }
    lower_limits(kind);
    kind->template_of_forks =
        template_start(kind->pool->host, &kind->design, on_template_change, kind);
    if (kind->template_of_forks == NULL)
        note_template_failure(kind, "its template could not be started");
}

/* Sessions are started one at a time. */
static size_t size_of(const struct warm_kind *kind)
{
    return is_session(&kind->design) ? 1 : kind->pool->size;
}

/* Also where its template is worn, or could not be started for want of memory. */
static bool awaits_template(const struct warm_kind *kind)
{
    return kind->is_forked && !is_ready(kind);
}

/* While the owner is busy, too, a fork may be made ahead: a run that finds none has one made for it. */
static struct warm_kind *wanting(const struct warm_pool *pool)
{
    bool is_idle = pool->may_fill(pool);
    struct warm_kind *kind = pool->kinds;
    while (kind != NULL &&
           (kind->is_barred || kind->retry_at != 0 || kind->count >= size_of(kind) ||
            awaits_template(kind) || (!is_idle && !is_ready(kind))))
        kind = kind->next;
    return kind;
}

static void on_fill(struct loop_timer *timer)
{
    struct warm_pool *pool = container_of(timer, struct warm_pool, fill);
    struct warm_kind *kind = wanting(pool);
    if (kind == NULL)
        return;
    if (meminfo_read().is_low)
        postpone(kind);
    else
        kind_add(kind);
    warm_pool_wake(pool);
}

static void arm_sweep(struct warm_pool *pool)
{
    loop_arm(pool->host->loop, &pool->sweep,
             clock_now() + WARM_SWEEP_MS * NANOSECONDS_PER_MILLISECOND);
}

/* The image is not trusted: its interpreter may be any program. */
static void drop_greedy(struct warm_kind *kind)
{
    LIST_EACH (struct warm_sandbox, warm, kind->sandboxes) {
        if (!limiter_is_past(&warm->limited.limiter, warm->limited.sandbox.pid))
            continue;
        struct fault fault = {0};
        fault_set(&fault, EDQUOT, "its program was past a limit before a call came");
        kind->is_barred = true;
        warm_sandbox_fail(warm, &fault);
    }
}

static void check_template(struct warm_kind *kind)
{
    struct interpreter_template *template = kind->template_of_forks;
    if (template != NULL && template_is_past(template)) {
        kind->is_barred = true;
        template_kill(template);
    } else if (is_ready(kind) && template_is_worn(template)) {
        /* What it has made serves until another is ready. */
        give_up_template(kind);
        start_template(kind);
    }
}

static void give_up_all(struct warm_pool *pool)
{
    for (struct warm_kind *kind = pool->kinds; kind != NULL; kind = kind->next)
        if (kind->count > 0 || kind->template_of_forks != NULL)
            postpone(kind);
    warm_pool_drain(pool);
}

/* What has failed may succeed now: without a call that would show it. */
static void try_again(struct warm_pool *pool, int64_t now)
{
    bool is_due = false;
    for (struct warm_kind *kind = pool->kinds; kind != NULL; kind = kind->next) {
        if (kind->retry_at == 0 || now < kind->retry_at || kind->is_barred)
            continue;
        kind->retry_at = 0;
        start_template(kind);
        is_due = true;
    }
    if (is_due)
        warm_pool_wake(pool);
}

static void on_sweep(struct loop_timer *timer)
{
    struct warm_pool *pool = container_of(timer, struct warm_pool, sweep);
    int64_t now = clock_now();
    LIST_EACH (struct warm_kind, kind, pool->kinds) {
        drop_greedy(kind);
        check_template(kind);
        if (now - kind->used_at >= WARM_UNUSED_MS * NANOSECONDS_PER_MILLISECOND)
            kind_free(kind);
    }
    if (meminfo_read().is_low)
        give_up_all(pool);
    else
        try_again(pool, now);
    if (pool->kinds != NULL)
        arm_sweep(pool);
}

void warm_pool_open(struct warm_pool *pool, struct sandbox_host *host, unsigned size,
                    bool (*may_fill)(const struct warm_pool *pool))
{
    *pool = (struct warm_pool){
        .host = host,
        .size = size,
        .fill = {.fire = on_fill},
        .sweep = {.fire = on_sweep},
        .may_fill = may_fill,
    };
}

static bool is_of_kind(const struct sandbox_design *design, const struct warm_kind *kind)
{
    struct run_limits limits = kind->design.limits;
    sandbox_host_lower_limits(kind->pool->host, &limits);
    const struct run_limits *one = &design->limits;
    const struct run_limits *other = &limits;
    return one->memory_bytes == other->memory_bytes && one->processes == other->processes &&
           one->millicpus == other->millicpus && plan_is_same(design->plan, kind->design.plan);
}

static struct warm_kind *find_kind(struct warm_pool *pool, const struct sandbox_design *design)
{
    struct warm_kind *kind = pool->kinds;
    while (kind != NULL && !is_of_kind(design, kind))
        kind = kind->next;
    return kind;
}

/*
 * Whether it is ready or being set up: no report of a failure has arrived, it has not ended, and neither
 * has the broker of its network; and nothing that an image has left can look at it.
 */
static bool is_sound(const struct warm_sandbox *warm)
{
    const struct sandbox *sandbox = &warm->limited.sandbox;
    struct pollfd events[] = {
        {.fd = is_session(&warm->kind->design) ? -1 : sandbox->control_fd, .events = POLLIN},
        {.fd = sandbox->pidfd, .events = POLLIN},
        {.fd = warm->limited.link_fd, .events = POLLIN},
    };
    return poll(events, ARRAY_LENGTH(events), 0) == 0 && template_fork_is_alone(&warm->limited);
}

/* Where none waits, a fork takes less time than a start. */
static bool fork_now(struct warm_kind *kind, const struct sandbox_design *design,
                     struct limited_sandbox *ret_limited)
{
    if (!make_fork(kind, ret_limited))
        return false;
    limiter_set_limits(&ret_limited->limiter, &design->limits);
    return true;
}

bool warm_pool_take(struct warm_pool *pool, const struct sandbox_design *design,
                    struct limited_sandbox *ret_limited)
{
    struct warm_kind *kind = find_kind(pool, design);
    while (kind != NULL && kind->sandboxes != NULL) {
        struct warm_sandbox *warm = kind->sandboxes;
        if (!is_sound(warm)) {
            warm_sandbox_end(warm);
            continue;
        }
        kind->is_told = kind->is_told && !warm->follows_failure;
        *ret_limited = warm->limited;
        limiter_set_limits(&ret_limited->limiter, &design->limits);
        warm->limited = LIMITED_SANDBOX_NONE;
        warm_sandbox_free(warm);
        return true;
    }
    return kind != NULL && fork_now(kind, design, ret_limited);
}

static void make_room(struct warm_pool *pool)
{
    size_t count = 0;
    struct warm_kind *oldest = pool->kinds;
    for (struct warm_kind *kind = pool->kinds; kind != NULL; kind = kind->next) {
        if (kind->used_at < oldest->used_at)
            oldest = kind;
        count++;
    }
    if (count >= WARM_KINDS_MAX)
        kind_free(oldest);
}

/* Directories on disk for copies of folders are out of a template's sight. */
static bool has_template(const struct warm_pool *pool, const struct sandbox_design *design)
{
    const struct sandbox_host *host = pool->host;
    return host->has_templates && plan_has_template(design->plan) &&
           (host->uppers.path == NULL || !plan_has_folder(plan_jail(design->plan), FOLDER_OVERLAY));
}

static struct warm_kind *add_kind(struct warm_pool *pool, struct sandbox_design *design)
{
    struct warm_kind *kind = calloc(1, sizeof(*kind));
    if (kind == NULL)
        return NULL;
    make_room(pool);
    *kind = (struct warm_kind){.pool = pool, .design = *design};
    *design = (struct sandbox_design){0};
    plan_make_warm(kind->design.plan);
    kind->is_forked = has_template(pool, &kind->design);
    LIST_PREPEND(pool->kinds, kind);
    return kind;
}

/* Without prewarmed sandboxes, there are only kinds that are forked on demand. */
static bool is_kept(const struct warm_pool *pool, const struct sandbox_design *design)
{
    return pool->size > 0 || has_template(pool, design);
}

bool warm_pool_knows(struct warm_pool *pool, const struct sandbox_design *design)
{
    return !is_kept(pool, design) || find_kind(pool, design) != NULL;
}

void warm_pool_learn(struct warm_pool *pool, struct sandbox_design *design)
{
    if (!is_kept(pool, design))
        return;
    struct warm_kind *kind = find_kind(pool, design);
    if (kind == NULL)
        kind = add_kind(pool, design);
    if (kind == NULL)
        return;
    if (!pool->sweep.armed)
        arm_sweep(pool);
    kind->used_at = clock_now();
    kind->is_barred = false;
    kind->failures = 0;
    kind->retry_at = 0;
    if (is_ready(kind) && is_steady(kind))
        kind->template_failures = 0;
    start_template(kind);
}

void warm_pool_wake(struct warm_pool *pool)
{
    /* Not at once: a request that has arrived meanwhile goes first. */
    if (pool->kinds != NULL && wanting(pool) != NULL)
        loop_arm(pool->host->loop, &pool->fill,
                 clock_now() + WARM_FILL_MS * NANOSECONDS_PER_MILLISECOND);
}

size_t warm_pool_count(const struct warm_pool *pool)
{
    size_t count = 0;
    for (const struct warm_kind *kind = pool->kinds; kind != NULL; kind = kind->next)
        count += kind->count;
    return count;
}

void warm_pool_drain(struct warm_pool *pool)
{
    for (struct warm_kind *kind = pool->kinds; kind != NULL; kind = kind->next) {
        kind_drain(kind);
        give_up_template(kind);
    }
}

void warm_pool_close(struct warm_pool *pool)
{
    if (pool->host == NULL)
        return;
    warm_pool_drain(pool);
    while (pool->kinds != NULL)
        kind_free(pool->kinds);
    loop_disarm(pool->host->loop, &pool->fill);
    loop_disarm(pool->host->loop, &pool->sweep);
}
