/*
 * The systemd service manager that makes scopes, and the ways to reach it.
 *
 * Side: parent, in a program of its own (main.c).  Source: sd_bus_default(3), for where they are.
 */
#ifndef SANDBOX_SCOPE_MANAGER_H
#define SANDBOX_SCOPE_MANAGER_H

#include "sandbox/base/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define MANAGER_WAYS 2

/* A socket of the manager. */
struct manager_way {
    const char *socket;   /* below manager.directory */
    const char *variable; /* environment variable that overrides the address; or NULL */
    bool is_bus;          /* a bus shared with others; false: only the manager */
};

struct manager {
    const char *name;              /* for messages */
    const struct manager_way *ways; /* MANAGER_WAYS of them, the best first */
    char directory[PATH_MAX];      /* where its sockets are */
};

/* The system's manager for root, else the user's. */
struct manager manager_find(void);

/*
 * Connects by one way and waits for the handshake until `deadline` (clock_now() nanoseconds). 0 and
 * a descriptor that the caller closes; or a negative errno with its fault.
 */
int manager_connect(const struct manager *manager, const struct manager_way *way, int64_t deadline,
                    int *ret_fd, struct fault *fault);

/* The remedy if no manager could be reached, as whole clauses. `text` is the caller's array. */
const char *manager_remedy(const struct manager *manager, char *text, size_t size);

#endif
