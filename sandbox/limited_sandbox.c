#include "sandbox/limited_sandbox.h"

#include "sandbox/base/heap.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <string.h>

/*
 * Polling sees memory that a process has mapped, and counts what else it can see, but a descriptor alone can hold
 * memory of memfd_create(2), and a process any number of rules of Landlock. (None of our profiles allows shmget(2).)
 */
static const char *unpolled_calls(const struct enforcement *enforced, const char *calls)
{
    return enforced->memory == ENFORCED_BY_CGROUP ? NULL : calls;
}

int sandbox_host_compile_filter(struct sandbox_host *host, const struct jail_host *jails,
                                const char *profile, struct fault *fault)
{
    struct filter *filter = &host->filter;
    int r = host->additions.count == 0 ? filter_additions_compile(jails->tier, jails->landlock_abi,
                                                                  &host->additions, fault)
                                       : 0;
    if (r < 0 || filter->length > 0)
        return r;
    const char *without = unpolled_calls(&host->enforcement.enforced, FILTER_UNPOLLED_CALLS);
    r = profile == NULL ? filter_compile_default(without, filter, fault)
                        : filter_compile(profile, strlen(profile), without, filter, fault);
    /* Releases libseccomp's memory: half of the pages whose tables each clone must copy. */
    heap_trim();
    return r;
}

void sandbox_host_release_filters(struct sandbox_host *host)
{
    filter_release(&host->filter);
    filter_release(&host->template_filter);
    filter_release(&host->fork_filter);
    filter_additions_release(&host->additions);
}

void sandbox_host_tell(const struct sandbox_host *host, const struct folder_changes *changes)
{
    if (host->appeared != NULL && folder_changes_matter(changes))
        host->appeared(host->appeared_data, changes);
}

void sandbox_host_lower_limits(const struct sandbox_host *host, struct run_limits *limits)
{
    const struct cgroup_delegation *cgroups = &host->cgroups;
    if (limits->memory_bytes > cgroups->memory_ceiling)
        limits->memory_bytes = cgroups->memory_ceiling;
    if (limits->processes >= cgroups->processes_ceiling)
        limits->processes = cgroups->processes_ceiling - 1;
}

void sandbox_design_release(struct sandbox_design *design)
{
    plan_free(design->plan);
    parcel_release(&design->runner);
    if (design->hold.release != NULL)
        design->hold.release(design->hold.data);
    *design = (struct sandbox_design){0};
}

/* Where upper layers are on disk, each sandbox with overlay folders has a directory for them. */
static int make_uppers(struct limited_sandbox *limited, struct sandbox_host *host,
                       struct jail_plan *plan, struct fault *fault)
{
    if (!plan_has_folder(plan, FOLDER_OVERLAY) || host->uppers.path == NULL)
        return 0;
    struct upper_directory *uppers = &limited->uppers;
    int r = upper_directory_make(&host->uppers, host->id_map.outside_uid, host->id_map.outside_gid,
                                 uppers, fault);
    if (r < 0)
        return r;
    plan->uppers_path = uppers->path;
    plan->uppers_device = uppers->device;
    plan->uppers_inode = uppers->inode;
    limiter_watch_disk(&limited->limiter, uppers->fd);
    return 0;
}

/* The child inherits the link under the same number. */
static int make_link(struct limited_sandbox *limited, struct sandbox_host *host,
                     const struct sandbox_design *design, struct jail_plan *plan,
                     struct fault *fault)
{
    if (host->network == NULL || design->has_no_network)
        return 0;
    OWNED_FD int fd = -1;
    int r = network_link(host->network, &fd, fault);
    if (r < 0)
        return r;
    limited->link_fd = fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FD_MAX + 1);
    if (limited->link_fd < 0)
        return fault_set(fault, errno, "cannot give a sandbox its network: %m");
    plan_base_set_network(plan, limited->link_fd, network_may_ping());
    return 0;
}

/* A jail without mounts gets directories on disk, and a user, in the place of those of the engine. */
static int make_root(struct limited_sandbox *limited, struct sandbox_host *host,
                     struct jail_plan *plan, struct fault *fault)
{
    struct id_map *map = &limited->map;
    if (plan->base == BASE_NAMESPACES)
        return 0;
    int r = run_root_take(&host->roots, plan, &limited->root, fault);
    if (r < 0)
        return r;
    map->is_mapped = false;
    if (plan->own_uid != 0) {
        map->outside_uid = plan->own_uid;
        map->outside_gid = plan->own_gid;
    }
    limiter_expect_guard(&limited->limiter, plan->own_uid);
    for (size_t i = 0; i < plan->scratch_count && i < RUN_ROOT_DIRECTORIES_MAX; i++)
        limiter_watch_disk(&limited->limiter, limited->root->directory_fds[i]);
    return 0;
}

int limited_sandbox_fork(struct limited_sandbox *limited, struct sandbox_host *host,
                         const struct sandbox_design *design, const struct template_end *origin,
                         struct fault *fault)
{
    struct fork_plan plan;
    plan_set_filter(design->plan, &host->filter, &host->additions);
    plan_fork(design->plan, &host->fork_filter, &plan);
    limited->map = host->id_map;
    int r = limiter_open(&limited->limiter, &host->cgroups.parent, &host->enforcement.enforced,
                         &design->limits, fault);
    if (r == 0)
        r = make_link(limited, host, design, &plan.jail, fault);
    if (r == 0)
        r = sandbox_fork(origin, &plan.jail, &host->id_map, limiter_cgroup_fd(&limited->limiter),
                         &limited->sandbox, fault);
    return r;
}

static bool polls_memory(const struct sandbox_host *host)
{
    return host->enforcement.enforced.memory == ENFORCED_BY_POLLING;
}

static int compile_filters_of_templates(struct sandbox_host *host, struct fault *fault)
{
    const struct enforcement *enforced = &host->enforcement.enforced;
    int r =
        host->template_filter.length == 0
            ? filter_compile_template(unpolled_calls(enforced, FILTER_UNPOLLED_CALLS_OF_TEMPLATES),
                                      &host->template_filter, fault)
            : 0;
    if (r < 0 || host->has_profile || host->fork_filter.length > 0)
        return r;
    r = filter_compile_fork(unpolled_calls(enforced, FILTER_UNPOLLED_CALLS), &host->fork_filter,
                            fault);
    heap_trim();
    return r;
}

int limited_sandbox_start_template(struct limited_sandbox *limited, struct sandbox_host *host,
                                   const struct sandbox_design *design, struct fault *fault)
{
    struct template_plan plan;
    int r = compile_filters_of_templates(host, fault);
    if (r == 0)
        r = limiter_open(&limited->limiter, &host->cgroups.parent, &host->enforcement.enforced,
                         &design->limits, fault);
    if (r < 0)
        return r;
    limiter_expect_jails(&limited->limiter);
    plan_template(design->plan, &host->template_filter, &plan);
    plan.jail.polls_memory = polls_memory(host);
    return sandbox_spawn(&plan.jail, &host->id_map, limiter_cgroup_fd(&limited->limiter),
                         &limited->sandbox, fault);
}

int limited_sandbox_start(struct limited_sandbox *limited, struct sandbox_host *host,
                          const struct sandbox_design *design, struct fault *fault)
{
    plan_set_filter(design->plan, &host->filter, &host->additions);
    /* Completed by what belongs to this sandbox alone. */
    struct jail_plan completed = *plan_jail(design->plan);
    struct jail_plan *plan = &completed;
    limited->map = host->id_map;
    plan->polls_memory = polls_memory(host);
    int r = limiter_open(&limited->limiter, &host->cgroups.parent, &host->enforcement.enforced,
                         &design->limits, fault);
    if (r == 0)
        r = make_uppers(limited, host, plan, fault);
    if (r == 0)
        r = make_root(limited, host, plan, fault);
    if (r == 0)
        r = make_link(limited, host, design, plan, fault);
    if (r == 0)
        r = sandbox_spawn(plan, &limited->map, limiter_cgroup_fd(&limited->limiter),
                          &limited->sandbox, fault);
    return r;
}

void limited_sandbox_ask_network(struct limited_sandbox *limited, bool is_end)
{
    if (limited->link_fd >= 0)
        network_ask(limited->link_fd, is_end, ++limited->asked);
}

struct network_record *limited_sandbox_take_network(const struct limited_sandbox *limited)
{
    struct network_record *record = limited->link_fd >= 0 ? malloc(sizeof(*record)) : NULL;
    if (record != NULL)
        network_take(limited->link_fd, limited->asked, record);
    return record;
}

void limited_sandbox_kill(struct limited_sandbox *limited)
{
    limiter_kill(&limited->limiter);
    sandbox_kill(&limited->sandbox);
}

void limited_sandbox_release(struct limited_sandbox *limited)
{
    sandbox_release(&limited->sandbox);
    limiter_release(&limited->limiter);
    upper_directory_remove(&limited->uppers);
    run_root_give_back(limited->root);
    limited->root = NULL;
    fd_close(&limited->link_fd);
    if (limited->origin.release != NULL)
        limited->origin.release(limited->origin.data);
    limited->origin = (struct run_hold){0};
}
