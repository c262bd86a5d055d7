#include "sandbox/base/loop.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

int64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

int loop_open(struct loop *loop)
{
    *loop = (struct loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    return loop->epoll_fd < 0 ? -errno : 0;
}

/* At most one: a callback may free the owner of any other watch, and of the loop itself. */
static int dispatch(struct loop *loop, int timeout)
{
    struct epoll_event event;
    int count = epoll_wait(loop->epoll_fd, &event, 1, timeout);
    if (count < 0 && errno != EINTR)
        return -errno;
    if (count == 1) {
        struct loop_watch *watch = event.data.ptr;
        watch->ready(watch, event.events);
    }
    return 0;
}

static void on_inside(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    dispatch(container_of(watch, struct loop, inside), 0);
}

int loop_open_inside(struct loop *outer, struct loop *loop)
{
    int r = loop_open(loop);
    if (r < 0)
        return r;
    loop->outer = outer;
    loop->inside = (struct loop_watch){.fd = -1, .ready = on_inside};
    r = loop_watch(outer, &loop->inside, loop->epoll_fd, EPOLLIN);
    if (r < 0)
        loop_close(loop);
    return r;
}

void loop_close(struct loop *loop)
{
    if (loop->outer != NULL)
        loop_unwatch(loop->outer, &loop->inside);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    loop->epoll_fd = -1;
}

int loop_watch(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int operation = watch->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(loop->epoll_fd, operation, fd, &event) < 0)
        return -errno;
    watch->fd = fd;
    return 0;
}

void loop_unwatch(struct loop *loop, struct loop_watch *watch)
{
    if (watch->fd >= 0)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
}

/* The loop with the timers. */
static struct loop *keeper_of(struct loop *loop)
{
    return loop->outer != NULL ? loop->outer : loop;
}

void loop_arm(struct loop *loop, struct loop_timer *timer, int64_t deadline)
{
    loop_disarm(loop, timer);
    timer->deadline = deadline;
    timer->armed = true;
    struct loop *keeper = keeper_of(loop);
    LIST_PREPEND(keeper->timers, timer);
}

void loop_disarm(struct loop *loop, struct loop_timer *timer)
{
    if (!timer->armed)
        return;
    struct loop *keeper = keeper_of(loop);
    LIST_REMOVE(keeper->timers, timer);
    timer->armed = false;
}

static struct loop_timer *earliest_timer(const struct loop *loop)
{
    struct loop_timer *earliest = loop->timers;
    for (struct loop_timer *timer = earliest; timer != NULL; timer = timer->next) {
        if (timer->deadline < earliest->deadline)
            earliest = timer;
    }
    return earliest;
}

/* Milliseconds for epoll_wait(2), rounded up so that no timer fires early; -1: no timeout. */
static int timeout_until(const struct loop_timer *timer)
{
    if (timer == NULL)
        return -1;
    int64_t left = timer->deadline - clock_now();
    if (left <= 0)
        return 0;
    int64_t milliseconds = (left + NANOSECONDS_PER_MILLISECOND - 1) / NANOSECONDS_PER_MILLISECOND;
    return milliseconds > INT_MAX ? INT_MAX : (int)milliseconds;
}

int loop_run(struct loop *loop)
{
    loop->stopping = false;
    while (!loop->stopping) {
        struct loop_timer *timer = earliest_timer(loop);
        if (timer != NULL && timer->deadline <= clock_now()) {
            loop_disarm(loop, timer);
            timer->fire(timer);
            continue;
        }
        int r = dispatch(loop, timeout_until(timer));
        if (r < 0)
            return r;
    }
    return 0;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}
