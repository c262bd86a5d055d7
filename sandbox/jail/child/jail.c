#include "sandbox/jail/child/jail.h"

#include "sandbox/jail/child/report.h"
#include "sandbox/jail/child/steps.h"
#include "sandbox/jail/child/wall.h"

static const struct {
    const char *name;
    int (*perform)(struct jail *); /* NULL for a PART */
    unsigned jails; /* enum jail_kind */
    unsigned bases; /* enum jail_base */
} steps[STEP_COUNT] = {
#define STEP(id, name, jails, bases, text)                                                         \
    [STEP_##id] = {#name, step_##name, JAIL_##jails, BASE_##bases},
#define PART(id, name, text)
#include "sandbox/jail/child/steps.def"
#undef STEP
#undef PART
};

static void perform_steps(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    for (unsigned i = 0; i < STEP_COUNT; i++) {
        if ((steps[i].jails & plan->kind) == 0 || (steps[i].bases & plan->base) == 0 ||
            WALL_IS_LEFT_OUT(steps[i].name))
            continue;
        jail_note(jail, i, -1);
        int r = steps[i].perform(jail);
        if (r < 0)
            report_failure(plan, jail->step, -r, jail->index);
    }
}

void jail_main(const struct jail_plan *plan)
{
    struct jail jail = {
        .plan = plan, .root_fd = plan->root_tree_fd, .last_pid_fd = -1, .code_fifo = -1};
    perform_steps(&jail);
    init_main(&jail);
}

void jail_join(const struct jail_plan *plan)
{
    struct jail jail = {.plan = plan, .root_fd = -1, .code_fifo = -1};
    perform_steps(&jail);
    init_become_program(&jail);
}
