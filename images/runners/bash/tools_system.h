/*
 * System calls of `tools`, which has no C library, since it runs on any image: each is a negative errno on failure.
 *
 * Side: child.  Source: syscall(2).
 */
#ifndef IMAGES_RUNNERS_BASH_TOOLS_SYSTEM_H
#define IMAGES_RUNNERS_BASH_TOOLS_SYSTEM_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)

#define PROGRAM_START "mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall tools_main\n\thlt"
#define RETURN_FROM_SIGNAL "mov $15, %eax\n\tsyscall"

/* NOLINTNEXTLINE(readability-function-size) */
static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

#define PROGRAM_START "mov x0, sp\n\tbl tools_main\n\tbrk #0"
#define RETURN_FROM_SIGNAL "mov x8, #139\n\tsvc #0"

/* NOLINTNEXTLINE(readability-function-size) */
static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

#else
#error "tools_system.h has no system calls of this architecture"
#endif

#define CALL_0(number) system_call(SYS_##number, 0, 0, 0, 0, 0, 0)
#define CALL_1(number, a) system_call(SYS_##number, (long)(a), 0, 0, 0, 0, 0)
#define CALL_2(number, a, b) system_call(SYS_##number, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL_3(number, a, b, c) system_call(SYS_##number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL_4(number, a, b, c, d)                                                                 \
    system_call(SYS_##number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* As the kernel has it, with 64 signals. */
struct signal_action {
    void (*handler)(int signal);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
#define ACTION_HAS_RESTORER 0x04000000UL
#define ACTION_ONCE 0x80000000UL /* SA_RESETHAND */

static inline long system_read(int fd, void *bytes, size_t length)
{
    return CALL_3(read, fd, bytes, length);
}

static inline long system_write(int fd, const void *bytes, size_t length)
{
    return CALL_3(write, fd, bytes, length);
}

/* MSG_DONTWAIT. */
static inline long system_receive(int fd, void *bytes, size_t length, int flags)
{
    return system_call(SYS_recvfrom, fd, (long)bytes, (long)length, flags | MSG_DONTWAIT, 0, 0);
}

static inline long system_open(const char *path, int flags)
{
    return CALL_3(openat, AT_FDCWD, path, flags | O_CLOEXEC);
}

static inline void system_close(int fd)
{
    CALL_1(close, fd);
}

static inline long system_list(int fd, void *entries, size_t size)
{
    return CALL_3(getdents64, fd, entries, size);
}

static inline long system_lock(int fd, int command, struct flock *lock)
{
    return CALL_3(fcntl, fd, command, lock);
}

/* Whether it is a pipe. */
static inline bool system_is_pipe(int fd)
{
    return CALL_3(fcntl, fd, F_GETPIPE_SZ, 0) > 0;
}

/* -1: without an end. */
static inline long system_poll(struct pollfd *events, size_t count, int timeout_ms)
{
    struct timespec time = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    return CALL_4(ppoll, events, count, timeout_ms < 0 ? NULL : &time, NULL);
}

static inline void system_sleep(long microseconds)
{
    const struct timespec time = {0, microseconds * 1000};
    CALL_2(nanosleep, &time, NULL);
}

static inline uint64_t system_clock(void)
{
    struct timespec now = {0, 0};
    CALL_2(clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static inline long system_pid(void)
{
    return CALL_0(getpid);
}

static inline long system_session(void)
{
    return CALL_1(getsid, 0);
}

static inline void system_kill(long pid, int signal)
{
    CALL_2(kill, pid, signal);
}

static inline void system_action(int signal, const struct signal_action *action,
                                 struct signal_action *ret_old)
{
    CALL_4(rt_sigaction, signal, action, ret_old, sizeof(action->mask));
}

static inline _Noreturn void system_exit(int status)
{
    for (;;)
        CALL_1(exit_group, status);
}

static inline size_t length_of(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

static inline bool is_same(const char *one, const char *other)
{
    while (*one == *other && *one != '\0')
        one++, other++;
    return *one == *other;
}

#endif
