#include "sandbox/warm_pool.h"

#include "sandbox/base/owned.h"
#include "sandbox/engine.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/meminfo.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* One that waits. */
struct spare {
    struct warm_kind *kind;
    struct spare *next;
    struct sandbox sandbox;
    struct limiter limiter;
    struct loop_watch control, end; /* whatever they tell, it is of no use any more */
};

/* Runs that differ in nothing but their code, and sandboxes for more of them. */
struct warm_kind {
    struct warm_pool *pool;
    struct warm_kind *next;
    struct plan *plan; /* owned */
    struct run_limits limits;
    void (*hold_release)(void *data); /* or NULL: as run_spec.hold */
    void *hold_data;
    struct spare *spares; /* owned, the oldest first */
    size_t count;
    int64_t used_at; /* clock_now() of the last run */
    bool failed; /* to make one, or one died waiting: none are made until a run has ended well */
};

static void spare_free(struct spare *spare)
{
    struct warm_kind *kind = spare->kind;
    struct loop *loop = kind->pool->engine->loop;
    struct spare **place = &kind->spares;
    while (*place != NULL && *place != spare)
        place = &(*place)->next;
    if (*place != NULL) {
        *place = spare->next;
        kind->count--;
    }
    loop_unwatch(loop, &spare->control);
    loop_unwatch(loop, &spare->end);
    sandbox_release(&spare->sandbox);
    limiter_release(&spare->limiter);
    free(spare);
}

static void kind_drain(struct warm_kind *kind)
{
    /* All are told to die before the first is waited for. */
    for (struct spare *spare = kind->spares; spare != NULL; spare = spare->next)
        sandbox_kill(&spare->sandbox);
    while (kind->spares != NULL)
        spare_free(kind->spares);
}

static void kind_free(struct warm_kind *kind)
{
    kind_drain(kind);
    struct warm_kind **place = &kind->pool->kinds;
    while (*place != kind)
        place = &(*place)->next;
    *place = kind->next;
    plan_free(kind->plan);
    if (kind->hold_release != NULL)
        kind->hold_release(kind->hold_data);
    free(kind);
}

/* It failed, or its program ended before it had its code. */
static void on_bad_news(struct spare *spare)
{
    spare->kind->failed = true;
    spare_free(spare);
}

static void on_spare_control(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    on_bad_news(container_of(watch, struct spare, control));
}

static void on_spare_end(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    on_bad_news(container_of(watch, struct spare, end));
}

static int spare_start(struct spare *spare)
{
    struct warm_kind *kind = spare->kind;
    struct engine *engine = kind->pool->engine;
    struct fault fault;
    plan_set_filter(kind->plan, &engine->filter);
    int r = limiter_open(&spare->limiter, &engine->home, &engine->enforcement.enforced,
                         &kind->limits, &fault);
    if (r == 0)
        r = sandbox_spawn(kind->plan, &engine->id_map, spare->limiter.cgroup.fd, &spare->sandbox,
                          &fault);
    if (r == 0)
        r = loop_watch(engine->loop, &spare->control, spare->sandbox.control_fd, EPOLLIN);
    if (r == 0)
        r = loop_watch(engine->loop, &spare->end, spare->sandbox.pidfd, EPOLLIN);
    return r;
}

static void kind_add(struct warm_kind *kind)
{
    struct spare *spare = malloc(sizeof(*spare));
    if (spare == NULL) {
        kind->failed = true;
        return;
    }
    *spare = (struct spare){
        .kind = kind,
        .sandbox = SANDBOX_NONE,
        .limiter = LIMITER_NONE,
        .control = {.fd = -1, .ready = on_spare_control},
        .end = {.fd = -1, .ready = on_spare_end},
    };
    struct spare **last = &kind->spares;
    while (*last != NULL)
        last = &(*last)->next;
    *last = spare;
    kind->count++;
    if (spare_start(spare) < 0)
        on_bad_news(spare);
}

/* Who waits for a run comes first, and so do runs while there are no more processors than them. */
static bool is_idle(const struct engine *engine)
{
    return engine->queued.count == 0 && engine->running.count < engine->parallel &&
           engine->stage == ENGINE_PROBED && engine->status == 0;
}

static struct warm_kind *wanting(const struct warm_pool *pool)
{
    struct warm_kind *kind = pool->kinds;
    while (kind != NULL && (kind->failed || kind->count >= pool->size))
        kind = kind->next;
    return kind;
}

static void on_fill(struct loop_timer *timer)
{
    struct warm_pool *pool = container_of(timer, struct warm_pool, fill);
    struct warm_kind *kind = wanting(pool);
    if (kind == NULL || !is_idle(pool->engine) || meminfo_is_low())
        return;
    kind_add(kind);
    warm_pool_wake(pool);
}

static void sample_later(struct warm_pool *pool)
{
    loop_arm(pool->engine->loop, &pool->look,
             clock_now() + WARM_POOL_SWEEP_MS * NANOSECONDS_PER_MILLISECOND);
}

/* What the image has in the place of an interpreter need not wait. */
static void drop_greedy(struct warm_kind *kind)
{
    for (struct spare *spare = kind->spares, *next; spare != NULL; spare = next) {
        next = spare->next;
        if (limiter_is_past(&spare->limiter, spare->sandbox.pid))
            on_bad_news(spare);
    }
}

static void on_sample(struct loop_timer *timer)
{
    struct warm_pool *pool = container_of(timer, struct warm_pool, look);
    int64_t now = clock_now();
    for (struct warm_kind *kind = pool->kinds, *next; kind != NULL; kind = next) {
        next = kind->next;
        drop_greedy(kind);
        if (now - kind->used_at >= POOL_UNUSED_MS * NANOSECONDS_PER_MILLISECOND)
            kind_free(kind);
    }
    if (meminfo_is_low())
        warm_pool_drain(pool);
    if (pool->kinds != NULL)
        sample_later(pool);
}

void warm_pool_open(struct warm_pool *pool, struct engine *engine, unsigned size)
{
    *pool = (struct warm_pool){
        .engine = engine, .size = size, .fill = {.fire = on_fill}, .look = {.fire = on_sample}};
}

static bool is_of_kind(const struct run *run, const struct warm_kind *kind)
{
    const struct run_limits *one = &run->limits;
    const struct run_limits *other = &kind->limits;
    return one->memory_bytes == other->memory_bytes && one->processes == other->processes &&
           one->millicpus == other->millicpus && plan_is_same(run->plan, kind->plan);
}

static struct warm_kind *find_kind(struct warm_pool *pool, const struct run *run)
{
    struct warm_kind *kind = pool->kinds;
    while (kind != NULL && !is_of_kind(run, kind))
        kind = kind->next;
    return kind;
}

/* Nothing has been heard of it: it stands, or is on the way. */
static bool is_sound(const struct spare *spare)
{
    struct pollfd news[] = {
        {.fd = spare->sandbox.control_fd, .events = POLLIN},
        {.fd = spare->sandbox.pidfd, .events = POLLIN},
    };
    return poll(news, ARRAY_LENGTH(news), 0) == 0;
}

bool warm_pool_take(struct warm_pool *pool, struct run *run)
{
    struct warm_kind *kind = find_kind(pool, run);
    while (kind != NULL && kind->spares != NULL) {
        struct spare *spare = kind->spares;
        if (!is_sound(spare)) {
            on_bad_news(spare);
            continue;
        }
        loop_unwatch(pool->engine->loop, &spare->control);
        loop_unwatch(pool->engine->loop, &spare->end);
        run->sandbox = spare->sandbox;
        run->limiter = spare->limiter;
        run->limiter.limits = run->limits;
        spare->sandbox = SANDBOX_NONE;
        spare->limiter = LIMITER_NONE;
        spare_free(spare);
        return true;
    }
    return false;
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
    if (count >= POOL_KINDS_MAX)
        kind_free(oldest);
}

static struct warm_kind *add_kind(struct warm_pool *pool, struct run *run)
{
    struct warm_kind *kind = calloc(1, sizeof(*kind));
    if (kind == NULL)
        return NULL;
    make_room(pool);
    *kind = (struct warm_kind){
        .pool = pool,
        .next = pool->kinds,
        .plan = run->plan,
        .limits = run->limits,
        .hold_release = run->hold_release,
        .hold_data = run->hold_data,
    };
    plan_make_warm(kind->plan);
    run->plan = NULL;
    run->hold_release = NULL;
    pool->kinds = kind;
    return kind;
}

void warm_pool_learn(struct warm_pool *pool, struct run *run)
{
    if (pool->size == 0 || run->cold)
        return;
    struct warm_kind *kind = find_kind(pool, run);
    if (kind == NULL)
        kind = add_kind(pool, run);
    if (kind == NULL)
        return;
    if (!pool->look.armed)
        sample_later(pool);
    kind->used_at = clock_now();
    kind->failed = false;
}

void warm_pool_wake(struct warm_pool *pool)
{
    /* Not at once: a request that has come meanwhile goes first. */
    if (pool->kinds != NULL && wanting(pool) != NULL)
        loop_arm(pool->engine->loop, &pool->fill,
                 clock_now() + POOL_FILL_MS * NANOSECONDS_PER_MILLISECOND);
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
    for (struct warm_kind *kind = pool->kinds; kind != NULL; kind = kind->next)
        kind_drain(kind);
}

void warm_pool_close(struct warm_pool *pool)
{
    if (pool->engine == NULL)
        return;
    warm_pool_drain(pool);
    while (pool->kinds != NULL)
        kind_free(pool->kinds);
    loop_disarm(pool->engine->loop, &pool->fill);
    loop_disarm(pool->engine->loop, &pool->look);
}
