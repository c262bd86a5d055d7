/*
 * A template: an interpreter that has started and loaded what runs need, and then makes a jail with a fork of
 * itself for each request of the server.
 *
 * server ── clone3 ──> init of the template ── clone ──> ... interpreter (the template)
 *                                                          ── clone ──> init of a fork ── fork ──> program
 *
 * The template is in a jail of its own, and never sees a line of a snippet. A fork makes its jail by the same steps as a
 * child of the server, in namespaces within those of the template; its root is the template's, with a /proc, a /dev and
 * a tmpfs of its own above. All of it is dead when the init of the template is.
 *
 * Side: child, but in the interpreter: this is compiled into a library that the interpreter loads, with all of this
 * folder, and may use what any C library has (tests/project/test_template_library.py).
 */
#ifndef SANDBOX_JAIL_CHILD_FORK_SERVER_H
#define SANDBOX_JAIL_CHILD_FORK_SERVER_H

#include <stdint.h>

#define FORK_SERVER_FDS_MAX 8

/*
 * Where the plan of a fork lies in the memory of the template, so that the server can write its pointers. Free in
 * every process of 64 bits, also where addresses have 39 bits (arm64).
 */
#define FORK_PLAN_ADDRESS 0x3000000000

/*
 * A record of the server (SOCK_SEQPACKET). With it come descriptors: first memory with the plan, struct jail_plan at its
 * begin, then those which the plan names. A descriptor of the plan is its place among the latter.
 */
struct fork_request {
    uint32_t fd_count; /* with the memory */
    uint32_t zero;
    uint64_t plan_size;
};

/* A record of the template: it is ready, or could not fork. Of a fork that begins, REPORT_BORN tells. */
struct fork_reply {
    int32_t error; /* positive errno; 0: ready */
    uint32_t zero;
};

/*
 * Serves until the server closes the socket. `go_on` is called in each program, and does not return. 0, or a
 * negative errno if the socket fails.
 */
int fork_server_serve(int socket_fd, void (*go_on)(void));

#endif
