/*
 * What tests of sessions stand on: an engine, its event loop, and a root file system with session-program.c alone; and
 * waiting for what is expected, not for a time.
 *
 * Side: parent.
 */
#ifndef TESTS_UNIT_SESSION_STAGE_H
#define TESTS_UNIT_SESSION_STAGE_H

#include "sandbox/base/loop.h"
#include "sandbox/engine.h"

#include <stddef.h>
#include <stdint.h>

/* How long anything awaited may take, on a machine with much else to do. */
#define PATIENCE_MS 60000

struct stage {
    struct loop loop;
    struct loop_timer patience;
    struct engine *engine;
    char *rootfs;
    size_t awaited; /* answers */
};
extern struct stage stage;

/* For cmocka: of the group. open_stage() skips nothing and needs jails: needs-jails.h. */
int open_stage(void **state);
int close_stage(void **state);

/* Turns the loop for so long, or until something stops it. */
void turn(int64_t milliseconds);

/* One of those awaited has been answered; the last one stops the loop. */
void note_answered(void);

/* Until all that are awaited have been answered. */
void await_all(void);

/* Turns the loop until the condition holds; it may be evaluated many times. cmocka is the file's. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        int64_t patience_end = clock_now() + PATIENCE_MS * NANOSECONDS_PER_MILLISECOND;            \
        bool holds = (condition);                                                                  \
        for (; !holds && clock_now() < patience_end; holds = (condition))                          \
            turn(1);                                                                               \
        assert_true(holds);                                                                        \
    } while (0)

#endif
