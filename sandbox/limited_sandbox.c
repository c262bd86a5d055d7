#include "sandbox/limited_sandbox.h"

#include <malloc.h>
#include <string.h>

/*
 * Polling sees only memory that a process has mapped, but a descriptor alone can hold memory of
 * memfd_create(2). (None of our profiles allows shmget(2).)
 */
static const char *unpolled_call(const struct enforcement *enforced)
{
    return enforced->memory == ENFORCED_BY_CGROUP ? NULL : "memfd_create";
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

int limited_sandbox_start(struct limited_sandbox *limited, struct sandbox_host *host,
                          const struct sandbox_template *template, struct fault *fault)
{
    plan_set_filter(template->plan, &host->filter);
    int r = limiter_open(&limited->limiter, &host->cgroups.parent, &host->enforcement.enforced,
                         &template->limits, fault);
    if (r == 0)
        r = sandbox_spawn(plan_jail(template->plan), &host->id_map,
                          limiter_cgroup_fd(&limited->limiter), &limited->sandbox, fault);
    return r;
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
}
