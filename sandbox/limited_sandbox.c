#include "sandbox/limited_sandbox.h"

void sandbox_template_release(struct sandbox_template *template)
{
    plan_free(template->plan);
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
        r = sandbox_spawn(plan, &host->id_map, limiter_cgroup_fd(&limited->limiter),
                          &limited->sandbox, fault);
    plan->uppers_path = NULL; /* the next sandbox of this plan has another */
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
    upper_directory_remove(&limited->uppers);
}
