#include "sandbox/limited_sandbox.h"

void sandbox_template_release(struct sandbox_template *template)
{
    plan_free(template->plan);
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
