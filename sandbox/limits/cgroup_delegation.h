/*
 * Finding a cgroup in which this server may create those of its runs.
 *
 * Without root, it has to be delegated. The candidates, in order: the cgroup in which this process
 * was started, if that is delegated to it (a service with Delegate=, a container with its own
 * cgroup hierarchy); a scope of the service manager, requested by a separate program, so that the
 * server does not wait for systemd; none. The first run triggers the search.
 *
 *   own cgroup or scope         controllers enabled, no process in it (kernel's rule)
 *   ├─ code-sandbox-mcp-server  this process, and the others that were in there
 *   └─ code-sandbox-mcp-PID-N   locked while its server lives; others remove it once it is not
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
    struct fault fallback_reason; /* why there is none, or a controller is missing; else "" */
    uint64_t memory_ceiling;      /* the enclosing cgroups allow no more */
    uint64_t processes_ceiling;
    void (*probed)(struct cgroup_delegation *delegation);
    bool was_refused;             /* systemd refused: it may be asked again */
    struct scope_request request; /* while the service manager is asked */
};

#define CGROUP_DELEGATION_NONE                                                                     \
    ((struct cgroup_delegation){.parent = CGROUP_PARENT_NONE,                                      \
                                .request = SCOPE_REQUEST_NONE,                                     \
                                .memory_ceiling = UINT64_MAX,                                      \
                                .processes_ceiling = UINT64_MAX})

/*
 * Searches, and calls `probed` once with the result: from the loop, or before this returns.
 * delegation->parent.tidy.fire must be set. `scope_program` (borrowed until then) may be NULL.
 */
void cgroup_delegation_probe(struct cgroup_delegation *delegation, struct loop *loop,
                             const char *scope_program,
                             void (*probed)(struct cgroup_delegation *delegation));

/* Removes the cgroups it created, unless a process is still in one. */
void cgroup_delegation_release(struct cgroup_delegation *delegation);

#endif
