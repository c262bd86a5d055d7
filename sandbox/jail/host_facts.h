/*
 * What this host and this process have that may keep a jail from being made.
 *
 * Side: parent. Source: proc_pid_status(5), "Seccomp"; user_namespaces(7); apparmor(7); the markers that
 * Docker, podman, Kubernetes and systemd leave in their containers.
 */
#ifndef SANDBOX_JAIL_HOST_FACTS_H
#define SANDBOX_JAIL_HOST_FACTS_H

#include <stdbool.h>

#define FACT_TEXT_MAX 128
#define FACT_PATH_MAX 256
#define FACT_UNKNOWN (-1) /* there is no such setting, or this process may not read it */

enum container {
    CONTAINER_NONE, /* no marker was found */
    CONTAINER_DOCKER,
    CONTAINER_PODMAN,
    CONTAINER_KUBERNETES,
    CONTAINER_OTHER,
};

/* Limits of namespaces: /proc/sys/user/max_*_namespaces. */
enum namespace_kind {
    NAMESPACE_USER,
    NAMESPACE_PID,
    NAMESPACE_NETWORK,
    NAMESPACE_MOUNT,
    NAMESPACE_IPC,
    NAMESPACE_UTS,
    NAMESPACE_CGROUP,
    NAMESPACE_KINDS,
};

struct host_facts {
    char kernel[FACT_TEXT_MAX]; /* its release: "6.12.1-amd64" */
    int kernel_major, kernel_minor;
    enum container container;
    bool has_filter;               /* a seccomp filter limits this process */
    bool is_proc_masked;           /* something is mounted below /proc */
    char apparmor[FACT_TEXT_MAX];  /* the profile of this process; "" none, or unconfined */
    bool apparmor_is_parents;      /* the parent process has the same */
    char program[FACT_PATH_MAX];   /* the path of this program; "" unknown, or longer */
    int apparmor_restricts;        /* kernel.apparmor_restrict_unprivileged_userns */
    int userns_clone;              /* kernel.unprivileged_userns_clone */
    int limits[NAMESPACE_KINDS];
};

/* Reads what can be read. */
void host_facts_read(struct host_facts *ret_facts);

/* "/proc/sys/user/max_net_namespaces" */
const char *namespace_limit_path(enum namespace_kind kind);

/* " of this Docker container"; "" for CONTAINER_NONE. */
const char *container_clause(enum container container);

#endif
