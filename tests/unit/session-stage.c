#include "tests/unit/session-stage.h"

#include "tests/bench/bench-rootfs.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct stage stage;

int open_stage(void **state)
{
    (void)state;
    char program[PATH_MAX];
    struct fault fault = {0};
    signal(SIGPIPE, SIG_IGN);
    const struct engine_options options = {.parallel = 2, .cgroup = CGROUP_NEVER};
    int r = bench_find_beside("session-program", program, &fault);
    if (r == 0)
        r = bench_rootfs_make(program, &stage.rootfs, &fault);
    if (r == 0)
        r = loop_open(&stage.loop);
    if (r == 0)
        r = engine_new(&stage.loop, &options, &stage.engine, &fault);
    if (r < 0)
        print_error("%s\n", fault.text);
    return r;
}

int close_stage(void **state)
{
    (void)state;
    engine_free(stage.engine);
    loop_close(&stage.loop);
    bench_rootfs_remove(&stage.rootfs);
    return 0;
}

static void on_patience(struct loop_timer *timer)
{
    (void)timer;
    loop_stop(&stage.loop);
}

void turn(int64_t milliseconds)
{
    stage.patience.fire = on_patience;
    loop_arm(&stage.loop, &stage.patience,
             clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(loop_run(&stage.loop), 0);
    loop_disarm(&stage.loop, &stage.patience);
}

void note_answered(void)
{
    if (--stage.awaited == 0)
        loop_stop(&stage.loop);
}

void await_all(void)
{
    if (stage.awaited > 0)
        turn(PATIENCE_MS);
    assert_int_equal(stage.awaited, 0);
}
