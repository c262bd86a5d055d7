/*
 * One epoll loop, for ready descriptors and timers.
 *
 * Watches and timers live inside the structs of their owners (container_of), so that adding one
 * cannot fail for lack of memory; the owner removes them before it is freed. Single-threaded.
 *
 * Side: parent.  Source: epoll(7).
 */
#ifndef SANDBOX_BASE_LOOP_H
#define SANDBOX_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

struct loop_watch {
    int fd; /* borrowed; -1 while not watched */
    void (*ready)(struct loop_watch *watch, uint32_t events);
};

struct loop_timer {
    int64_t deadline; /* clock_now() nanoseconds; meaningful while armed */
    void (*fire)(struct loop_timer *timer);
    struct loop_timer *previous, *next;
    bool armed;
};

struct loop {
    int epoll_fd;
    struct loop_timer *timers;
    bool stopping;
    struct loop *outer; /* NULL: it is in none */
    struct loop_watch inside; /* of the outer one: this loop has an event */
};

#define NANOSECONDS_PER_SECOND INT64_C(1000000000)
#define NANOSECONDS_PER_MILLISECOND INT64_C(1000000)

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t clock_now(void);

/* 0 or a negative errno. */
int loop_open(struct loop *loop);
/*
 * Opens a loop whose events are dispatched by the outer one, where it takes turns as if it were one
 * descriptor, however many it has. It stays where it is.
 */
int loop_open_inside(struct loop *outer, struct loop *loop);
void loop_close(struct loop *loop);

/*
 * Watches `fd` for `events` (EPOLLIN, EPOLLOUT; level-triggered). watch->ready must be set. Adding
 * an existing watch changes its events. 0 or a negative errno (EPERM: a regular file).
 */
int loop_watch(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events);
void loop_unwatch(struct loop *loop, struct loop_watch *watch);

/*
 * Arms or rearms the timer. timer->fire must be set; it is called once, after disarming the timer.
 */
void loop_arm(struct loop *loop, struct loop_timer *timer, int64_t deadline);
void loop_disarm(struct loop *loop, struct loop_timer *timer);

/* Dispatches until loop_stop(). 0 or a negative errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
