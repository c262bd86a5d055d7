/*
 * Children of a fetch: programs of the host, and jailed children (jailed.h). The same functions
 * wait for both.
 *
 * A child reads /dev/null unless it has an input. Its output is kept, up to a maximum. A jailed
 * child also sends messages. Every child dies with us (PR_SET_PDEATHSIG), and subprocess_release()
 * kills and reaps it and its process group. No wait for children is without end: those that do
 * nothing for SILENCE_SECONDS_MAX are killed. Side: parent.
 */
#ifndef IMAGES_BASE_SUBPROCESS_H
#define IMAGES_BASE_SUBPROCESS_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SUBPROCESS_OUTPUT_MAX (4 << 20) /* of stdout kept */
#define CHILD_ERRORS_MAX (64 << 10) /* of stderr kept */
#define SILENCE_SECONDS_MAX 120     /* without writing or computing: activity.h */

/* Kinds of messages of a jailed child: image_jail_tell(). */
enum told {
    TOLD_SUMMARY, /* text: the versions in the image */
    TOLD_HOME,    /* text: "PATH\nTARGET" of a home link */
    TOLD_SIZE,    /* number: bytes on disk */
    TOLD_FILES,   /* number: entries */
};

/* A message of a jailed child. The child is not trusted: the parent checks each message. */
struct message {
    int what; /* enum told */
    int64_t number;
    const char *text; /* plain */
};

struct subprocess {
    char name[32]; /* for people; a longer one is cut */
    pid_t pid;
    int pidfd;     /* owned, like all descriptors here */
    int out_fd;    /* its stdout */
    int err_fd;    /* its stderr */
    int report_fd; /* records of a jailed child, or -1 */
    bool group;    /* leads a process group of its own */
    bool
        has_guard; /* it ends all others of its jail when SIGTERM asks it to: sandbox/jail/child/guard.c */
    bool ended;
    bool is_reported; /* a record reported its program's end; ignore how init exits */
    int status; /* exit code, or 128 + signal */
    int64_t silence_max_ns; /* the same for all children of one wait */
    struct buffer out, err;
    struct fault fault; /* what a jailed child reported */
    int error; /* and its errno; 0 none */
    bool is_unexecuted; /* the program itself could not be executed */
};

/* An empty child, for subprocess_release() to pass over. */
#define SUBPROCESS_NONE                                                                            \
    ((struct subprocess){.pidfd = -1,                                                              \
                         .silence_max_ns = SILENCE_SECONDS_MAX * NANOSECONDS_PER_SECOND,           \
                         .out_fd = -1,                                                             \
                         .err_fd = -1,                                                             \
                         .report_fd = -1,                                                          \
                         .ended = true,                                                            \
                         .out = BUFFER(SUBPROCESS_OUTPUT_MAX),                                     \
                         .err = BUFFER(CHILD_ERRORS_MAX)})

/* Makes the pipes for the child's output; the caller owns the write ends. 0 or a negative errno. */
int subprocess_pipes(struct subprocess *child, int *ret_out_fd, int *ret_err_fd,
                     struct fault *fault);

/* Kills the child and reaps it. */
void subprocess_end(struct subprocess *child);

/* The same, if it is alive, and frees everything. */
void subprocess_release(struct subprocess *child);

/* Callbacks while children run; each member may be NULL. */
struct subprocess_observer {
    void (*message)(void *data, const struct message *message);
    void (*tick)(void *data); /* about ten times a second */
    void *data;
};

/*
 * Waits until all children have ended. If a child reports a fault, the others are killed. 0; -EINTR
 * if a signal asks us to stop (interrupt.h): the children are killed, and the fault says so;
 * -ETIMEDOUT likewise if they do nothing for too long; a negative errno with the fault reported by
 * a jailed child.
 */
#define CHILDREN_MAX 8
int subprocess_wait_all(struct subprocess *children, size_t count,
                        const struct subprocess_observer *observer, struct fault *fault);

/* Handles output and reports of the children, without waiting. 0, -EINTR or a reported fault. */
int subprocess_poll_all(struct subprocess *children, size_t count, struct fault *fault);

struct subprocess_spec {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *environment; /* NULL-terminated NAME=VALUE to set beside our own, or NULL */
    const char *directory; /* to start in, or NULL */
    const char *input; /* its stdin, or NULL: empty */
};

/* The last component of the path of a program, a part of it. */
const char *subprocess_name(const char *path);

/*
 * Starts a program of the host; subprocess_wait_all() waits for its end, and subprocess_check()
 * gives the result. Until then its output must fit into a pipe. 0 or a negative errno.
 */
int subprocess_start(const struct subprocess_spec *program, struct subprocess *child,
                     struct fault *fault);

/* After subprocess_wait_all(): as subprocess_run(). */
int subprocess_check(const struct subprocess_spec *program, const struct subprocess *child,
                     struct fault *fault);

/*
 * Runs a program of the host to its end. 0: it exited with 0, child->out holds what it printed;
 * -ENOENT: there is no such program (no fault is set); -EINTR; -ETIMEDOUT; -EPROTO: it failed, and the fault
 * holds what it wrote to stderr. The child is the caller's, to release.
 */
int subprocess_run(const struct subprocess_spec *program,
                   const struct subprocess_observer *observer, struct subprocess *child,
                   struct fault *fault);

/* Fills the fault for a failed program: `what` failed, with the end of its output. */
int subprocess_fault(const struct subprocess *child, const char *what, struct fault *fault);

#endif
