/* The plans of a template and of its forks, from that of the jail whose place they take. */
#include "sandbox/jail/child/steps.h"
#include "sandbox/jail/plan.h"
#include "sandbox/jail/plan_state.h"

#include "sandbox/jail/rlimits.h"
#include "sandbox/limits/limits.h"

#include <string.h>

bool plan_has_template(const struct plan *plan)
{
    const struct jail_plan *jail = &plan->jail;
    /*
     * Only a whole /proc lets the jail of a fork mount its own; and without Landlock an interpreter could look into the init
     * of a jail before that is closed.
     */
    return plan->template.file_count > 0 && jail->base == BASE_NAMESPACES &&
           jail->landlock_abi > 0 && jail->proc_copies == NULL && jail->session == SESSION_NONE &&
           jail->folder_count <= JAIL_FOLDERS_MAX &&
           !plan_has_folder(jail,
                            FOLDER_WRITABLE); /* what that needs is found out just before a run */
}

const struct run_template *plan_template_source(const struct plan *plan)
{
    return &plan->template;
}

/* What its forks have counts in its user namespace, too, besides in their own: user_namespaces(7), ucounts. */
static void raise_counts(struct template_plan *template)
{
    for (size_t i = 0; i < template->jail.rlimit_count; i++) {
        struct plan_rlimit *limit = &template->rlimits[i];
        int resource = limit->resource;
        if (resource != RLIMIT_NPROC && resource != RLIMIT_SIGPENDING && resource != RLIMIT_MEMLOCK)
            continue;
        rlim_t own = rlimit_hard(resource);
        rlim_t all = limit->limit * TEMPLATE_SHARES_MAX;
        limit->limit = limit->hard = own < all ? own : all;
    }
}

void plan_template(const struct plan *plan, const struct filter *filter,
                   struct template_plan *ret_plan)
{
    struct jail_plan *jail = &ret_plan->jail;
    *jail = plan->jail;
    jail->is_template = true;
    jail->is_warm = false;
    jail->session = SESSION_LIVE;
    jail->home_files = plan->template_files;
    jail->home_file_count = plan->fork_file_count + plan->template.file_count;
    jail->landlock_abi = 0; /* with it, no mount is allowed: landlock(7) */
    jail->user_limit_count = 0; /* its forks have user namespaces, with limits of their own */
    jail->filter = filter->code;
    jail->filter_length = filter->length;
    jail->filters_program = true; /* its init makes jails */
    memcpy(ret_plan->rlimits, plan->rlimits, sizeof(ret_plan->rlimits));
    jail->rlimits = ret_plan->rlimits;
    raise_counts(ret_plan);
}

/* Where the template keeps them; their paths on the host are not for an image to see, which can read the plan. */
static void name_folders(struct fork_plan *fork)
{
    static const char *const names[JAIL_FOLDERS_MAX] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    for (size_t i = 0; i < fork->jail.folder_count; i++) {
        fork->folders[i] = fork->jail.folders[i];
        fork->folders[i].path = names[i];
    }
    fork->jail.folders = fork->folders;
}

void plan_fork(const struct plan *plan, const struct filter *joined, struct fork_plan *ret_plan)
{
    struct jail_plan *jail = &ret_plan->jail;
    *jail = plan->jail;
    const char *program = strrchr(plan->programs[0], '/');
    jail->is_fork = true;
    jail->joined_filter = joined->code;
    jail->joined_filter_length = joined->length;
    jail->root_path = STORE_ROOT;
    jail->root_layers = NULL;
    jail->home_file_count = plan->fork_file_count;
    jail->argv = NULL; /* its program runs already */
    jail->programs = jail->environment = NULL;
    jail->polls_memory = false; /* huge pages are off in its template, and so in it */
    jail->program_name = program != NULL ? program + 1 : plan->programs[0];
    name_folders(ret_plan);
}
