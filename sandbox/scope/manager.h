/*
 * The service manager that makes scopes for us, and the ways to reach it.
 *
 * Side: parent, in a program of its own (main.c).  Source: sd-bus(3), sd_bus_default(3).
 */
#ifndef SANDBOX_SCOPE_MANAGER_H
#define SANDBOX_SCOPE_MANAGER_H

#include "sandbox/base/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

#define MANAGER_WAYS 2

/* A socket that leads to the manager. */
struct manager_way {
    const char *socket;   /* below manager.directory */
    const char *variable; /* of the environment: another address, when it is set; or NULL */
    bool is_bus;          /* others are there too; else the manager alone */
};

struct manager {
    const char *name;              /* for sentences */
    const struct manager_way *ways; /* MANAGER_WAYS of them, the best first */
    char directory[PATH_MAX];      /* where its sockets are */
};

/* The system's manager for root, else the user's. */
struct manager manager_find(void);

/*
 * Connects by one way, and waits until `deadline` (clock_now() nanoseconds) for the other side to
 * greet. 0 and a connection that the caller closes; or a negative errno with its fault.
 */
int manager_connect(const struct manager *manager, const struct manager_way *way, int64_t deadline,
                    sd_bus **ret_bus, struct fault *fault);

/* What would help where nobody could be reached; whole clauses. The text is the caller's array. */
const char *manager_remedy(const struct manager *manager, char *text, size_t size);

#endif
