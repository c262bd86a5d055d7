/*
 * A template: an interpreter that has started and loaded what runs need. For each run, a fork of it becomes the program of a
 * jail that is ready but for that: join.h.
 *
 * The template is in a jail of its own, and never sees a line of a snippet. The jails of its forks are made within it; their
 * root is the template's, with a /proc, a /dev and a tmpfs of their own above. All of them are dead when its init is.
 *
 * Side: child, but in the interpreter: this is compiled into a library that the interpreter loads, with all of this
 * folder, and may use what any C library has (tests/project/test_template_library.py).
 */
#ifndef SANDBOX_JAIL_CHILD_FORK_SERVER_H
#define SANDBOX_JAIL_CHILD_FORK_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FORK_FDS_MAX 12

/*
 * Where the plan of a fork lies in the memory of its processes, so that the server can write its pointers. Free in
 * every process of 64 bits, also where addresses have 39 bits (arm64).
 */
#define FORK_PLAN_ADDRESS 0x3000000000

/*
 * A record of the server to the init of a template (SOCK_SEQPACKET). With it come descriptors: first sealed memory with the
 * plan, struct jail_plan at its begin, then those which the plan names. A descriptor of the plan is its place among the
 * latter.
 */
struct fork_request {
    uint32_t fd_count; /* with the memory */
    uint32_t zero;
    uint64_t plan_size;
};

/* To the server: of the template, which is ready, by a pipe; or of its init, which could not make a jail. */
struct fork_reply {
    int32_t error; /* positive errno; 0: ready */
    uint32_t zero;
};

struct jail_plan;

/* The plan in that memory, at FORK_PLAN_ADDRESS, and private. NULL with errno. */
struct jail_plan *fork_map_plan(int memory_fd, size_t size);

/* The length of a record, with up to *fd_count descriptors; their number is left there. 0 at the end, or a negative errno. */
ssize_t fork_receive(int socket_fd, void *record, size_t size, int *fds, size_t *fd_count);

/* 0 or a negative errno. */
int fork_reply(int socket_fd, int error);

/*
 * Serves until nobody is left to ask; says by `answers_fd` that it is ready. `go_on` is called in each program, and does not return. 0, or a
 * negative errno if the socket fails.
 */
int fork_server_serve(int socket_fd, int answers_fd, void (*go_on)(void));

#endif
