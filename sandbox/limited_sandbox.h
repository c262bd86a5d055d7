/*
 * A sandbox and the limiter that enforces its limits: started together, ended together.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITED_SANDBOX_H
#define SANDBOX_LIMITED_SANDBOX_H

#include "sandbox/base/loop.h"
#include "sandbox/jail/filter.h"
#include "sandbox/jail/folders/folder_guard.h"
#include "sandbox/jail/forks/fork.h"
#include "sandbox/jail/id_map.h"
#include "sandbox/jail/plan.h"
#include "sandbox/jail/run_spec.h"
#include "sandbox/jail/sandbox.h"
#include "sandbox/limits/cgroup_delegation.h"
#include "sandbox/limits/limiter.h"
#include "sandbox/network/network.h"
#include "sandbox/roots/run_root.h"
#include "sandbox/upper_store.h"

/* Shared by all sandboxes of an engine. */
struct sandbox_host {
    struct loop *loop; /* borrowed */
    struct filter filter;
    struct filter_additions additions; /* of tiers without namespaces */
    bool has_profile; /* of the operator; else the filter is the built-in one */
    bool has_templates;                /* forks of an interpreter take the place of starts */
    struct filter template_filter; /* of those; empty until the first */
    struct filter fork_filter;     /* on top of it; empty with a profile of the operator */
    struct id_map id_map;
    struct cgroup_delegation cgroups;
    struct engine_enforcement enforcement;
    struct network *network; /* owned; NULL: sandboxes have none */
    struct upper_store uppers; /* closed: the tmpfs of each jail holds its upper layers */
    struct run_root_store roots; /* for jails without mounts */
    size_t cell_bytes; /* of all cells that sessions have */
    void (*appeared)(void *data,
                     const struct folder_changes *changes); /* engine_options.appeared */
    void *appeared_data;
    void (*prewarm_failed)(const struct fault *fault); /* engine_options.prewarm_failed */
};

/* What appeared in folders, and no observer hears of. */
void sandbox_host_tell(const struct sandbox_host *host, const struct folder_changes *changes);

/*
 * Compiles the filter of such jails once, from a profile as JSON text, or NULL for the built-in one. If memory or
 * descriptors are short, the next run tries again. 0, or a negative errno with its fault.
 */
int sandbox_host_compile_filter(struct sandbox_host *host, const struct jail_host *jails,
                                const char *profile, struct fault *fault);

void sandbox_host_release_filters(struct sandbox_host *host);

/*
 * Reduces limits to what the cgroups around this server allow, as far as that is known; init is one
 * process more.
 */
void sandbox_host_lower_limits(const struct sandbox_host *host, struct run_limits *limits);

/* What a sandbox is made from: those of one design differ only in their code. */
struct sandbox_design {
    struct plan *plan; /* owned; NULL: empty */
    struct parcel runner; /* owned; of a prewarmed session of one program: that program */
    struct run_limits limits;
    struct run_hold hold; /* owned */
    bool has_no_network; /* though the host has one */
};

void sandbox_design_release(struct sandbox_design *design);

struct limited_sandbox {
    struct sandbox sandbox;
    struct limiter limiter;
    int link_fd; /* to the broker of the network; -1: it has no network */
    uint32_t asked; /* how often that one was asked for a record */
    struct upper_directory uppers; /* of overlay folders, if they are on disk */
    struct run_root *root; /* owned; NULL: the jail has mounts */
    struct run_hold origin; /* owned: what it was made by, if that must outlive it */
    struct id_map map;      /* of its processes */
};

#define LIMITED_SANDBOX_NONE                                                                       \
    ((struct limited_sandbox){                                                                     \
        SANDBOX_NONE, LIMITER_NONE, -1, 0, UPPER_DIRECTORY_NONE, NULL, {NULL, NULL}, {0}})

/* 0; or a negative errno with its fault: then limited_sandbox_release() cleans up. */
int limited_sandbox_start(struct limited_sandbox *limited, struct sandbox_host *host,
                          const struct sandbox_design *design, struct fault *fault);

/* The same, by a fork of a template; and the template itself. */
int limited_sandbox_fork(struct limited_sandbox *limited, struct sandbox_host *host,
                         const struct sandbox_design *design, const struct template_end *origin,
                         struct fault *fault);
int limited_sandbox_start_template(struct limited_sandbox *limited, struct sandbox_host *host,
                                   const struct sandbox_design *design, struct fault *fault);

/* Asks what became of its network since the last time. `is_end`: no process of the sandbox is left. */
void limited_sandbox_ask_network(struct limited_sandbox *limited, bool is_end);

/* The answer: NULL without a network, or without memory; owned by the caller. */
struct network_record *limited_sandbox_take_network(const struct limited_sandbox *limited);

/* Kills the sandbox by all available means, without waiting for its end. */
void limited_sandbox_kill(struct limited_sandbox *limited);

/*
 * Kills any remaining process, waits for the end, and removes the cgroup, and what was written to
 * overlay folders unless it was taken.
 */
void limited_sandbox_release(struct limited_sandbox *limited);

#endif
