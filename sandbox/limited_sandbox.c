#include "sandbox/limited_sandbox.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>

/*
 * Polling sees only memory that a process has mapped, but a descriptor alone can hold memory of
 * memfd_create(2). (None of our profiles allows shmget(2).)
 */
static const char *unpolled_call(const struct enforcement *enforced)
{
    return enforced->memory == ENFORCED_BY_CGROUP ? NULL : FILTER_UNPOLLED_CALL;
}

int sandbox_host_compile_filter(struct sandbox_host *host, const char *profile, struct fault *fault)
{
    struct filter *filter = &host->filter;
    if (filter->length > 0)
        return 0;
    const char *without = unpolled_call(&host->enforcement.enforced);
    int r = profile == NULL ? filter_compile_default(without, filter, fault)
                            : filter_compile(profile, strlen(profile), without, filter, fault);
    /* Releases libseccomp's memory: half of the pages whose tables each clone must copy. */
    malloc_trim(0);
    return r;
}

void sandbox_host_lower_limits(const struct sandbox_host *host, struct run_limits *limits)
{
    const struct cgroup_delegation *cgroups = &host->cgroups;
    if (limits->memory_bytes > cgroups->memory_ceiling)
        limits->memory_bytes = cgroups->memory_ceiling;
    if (limits->processes >= cgroups->processes_ceiling)
        limits->processes = cgroups->processes_ceiling - 1;
}

void sandbox_template_release(struct sandbox_template *template)
{
    plan_free(template->plan);
    parcel_release(&template->runner);
    if (template->hold.release != NULL)
        template->hold.release(template->hold.data);
    *template = (struct sandbox_template){0};
}

/* Where upper layers are on disk, each sandbox with overlay folders has a directory for them. */
static int make_uppers(struct limited_sandbox *limited, struct sandbox_host *host,
                       struct jail_plan *plan, struct fault *fault)
{
    bool has_overlay = false;
    for (size_t i = 0; i < plan->folder_count; i++)
        has_overlay = has_overlay || plan->folders[i].mode == FOLDER_OVERLAY;
    if (!has_overlay || host->uppers.path == NULL)
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
                     struct jail_plan *plan, struct fault *fault)
{
    if (host->network == NULL)
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

int limited_sandbox_start(struct limited_sandbox *limited, struct sandbox_host *host,
                          const struct sandbox_template *template, struct fault *fault)
{
    struct jail_plan *plan = plan_jail(template->plan);
    plan_set_filter(template->plan, &host->filter);
    int r = limiter_open(&limited->limiter, &host->cgroups.parent, &host->enforcement.enforced,
                         &template->limits, fault);
    if (r == 0)
        r = make_uppers(limited, host, plan, fault);
    if (r == 0)
        r = make_link(limited, host, plan, fault);
    if (r == 0)
        r = sandbox_spawn(plan, &host->id_map, limiter_cgroup_fd(&limited->limiter),
                          &limited->sandbox, fault);
    plan->uppers_path = NULL; /* the next sandbox of this plan has another */
    return r;
}

void limited_sandbox_ask_network(const struct limited_sandbox *limited, bool is_end)
{
    if (limited->link_fd >= 0)
        network_ask(limited->link_fd, is_end);
}

struct network_record *limited_sandbox_take_network(const struct limited_sandbox *limited)
{
    struct network_record *record = limited->link_fd >= 0 ? malloc(sizeof(*record)) : NULL;
    if (record != NULL)
        network_take(limited->link_fd, record);
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
    fd_close(&limited->link_fd);
}
