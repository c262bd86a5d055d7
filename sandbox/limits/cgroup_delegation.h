/*
 * The place below which the runs of this server have their cgroups, and how it comes by one.
 *
 * Without root, a cgroup has to be delegated. In order: the cgroup that this process was started in,
 * if that is its own to divide (a service with Delegate=, a container with a cgroup hierarchy of its
 * own); else a scope of the service manager, which a small program asks for, so that nothing of
 * systemd is loaded here; else none. Looked for once, when the first run needs it.
 *
 *   own cgroup or scope         controllers enabled, no process in it (kernel's rule)
 *   ├─ code-sandbox-mcp-server  this process, and what else was in there
 *   └─ code-sandbox-mcp-PID-N   locked while its server lives, so that others can tell and sweep
 *      ├─ run-1                 sandbox/limits/cgroup.h
 *      └─ run-2
 *
 * Side: parent.  Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), systemd.scope(5),
 * systemd's CGROUP_DELEGATION document.
 */
#ifndef SANDBOX_LIMITS_CGROUP_DELEGATION_H
#define SANDBOX_LIMITS_CGROUP_DELEGATION_H

#include "sandbox/base/loop.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/limits/cgroup_file.h"
#include "sandbox/limits/cgroup_subtree.h"
#include "sandbox/limits/enforcement.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/scope_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_delegation {
    struct cgroup_parent parent;
    enum cgroup_source source;
    struct fault fallback_reason; /* why there is none, or not every controller; else "" */
    uint64_t memory_ceiling;      /* of the cgroups around this process: no run can have more */
    uint64_t processes_ceiling;
    void (*probed)(struct cgroup_delegation *delegation);
    bool was_refused;             /* systemd was asked and refused: it may be asked again */
    struct scope_request request; /* while the service manager is asked */
};

#define CGROUP_DELEGATION_NONE                                                                     \
    ((struct cgroup_delegation){.parent = CGROUP_PARENT_NONE,                                      \
                                .request = SCOPE_REQUEST_NONE,                                     \
                                .memory_ceiling = UINT64_MAX,                                      \
                                .processes_ceiling = UINT64_MAX})

/*
 * Finds a place, or that there is none, and calls `probed` once: from the loop, or before this
 * returns. delegation->parent.tidy.fire must be set. `scope_program` (borrowed until then) may be NULL.
 */
void cgroup_delegation_probe(struct cgroup_delegation *delegation, struct loop *loop,
                             const char *scope_program,
                             void (*probed)(struct cgroup_delegation *delegation));

/* Removes what it made, except where a process still is. */
void cgroup_delegation_release(struct cgroup_delegation *delegation);

#endif
