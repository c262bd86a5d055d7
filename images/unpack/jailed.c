#include "images/unpack/jailed.h"

#include "images/base/interrupt.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/sandbox.h"
#include "sandbox/jail/setup_error.h"
#include "sandbox/roots/install_root.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Waits until the jail is made, which takes milliseconds. 0, or a negative errno with a fault. */
static int await_jail(struct sandbox *sandbox, const struct jail_plan *plan, struct fault *fault)
{
    struct pollfd watch = {.fd = sandbox->control_fd, .events = POLLIN};
    sigset_t mask;
    interrupt_mask(&mask);
    struct child_report report = {0};
    int r;
    while ((r = sandbox_read_report(sandbox, &report)) == -EAGAIN)
        if (ppoll(&watch, 1, NULL, &mask) < 0 && interrupt_signal() != 0)
            return interrupt_fault(fault);
    if (r < 0)
        return fault_set(fault, EPROTO, "%s ended while it was being made", plan->subject);
    return report.kind == REPORT_READY ? 0 : setup_error_explain(plan, &report, fault);
}

static int start(const struct image_jail *jail, struct image_plan *plan, struct subprocess *child,
                 struct fault *fault)
{
    OWNED(sandbox_release) struct sandbox sandbox = SANDBOX_NONE;
    bool is_mapped = plan->jail.base == BASE_NAMESPACES;
    const struct id_map own = {false, plan->jail.own_uid, plan->jail.own_gid, 0, 0};
    const struct id_map map = {is_mapped, geteuid(), getegid(), 0, 0};
    int r = sandbox_spawn(&plan->jail, plan->jail.own_uid != 0 ? &own : &map, -1, &sandbox, fault);
    if (r == 0)
        r = await_jail(&sandbox, &plan->jail, fault);
    if (r < 0)
        return r;
    child->pid = sandbox.pid;
    snprintf(child->name, sizeof(child->name), "%s",
             jail->program != NULL ? subprocess_name(jail->program->argv[0])
                                   : "a process of the fetch");
    child->pidfd = fd_take(&sandbox.pidfd);
    child->out_fd = fd_take(&sandbox.stdout_fd);
    child->err_fd = fd_take(&sandbox.stderr_fd);
    child->report_fd = fd_take(&sandbox.control_fd);
    child->has_guard = sandbox.has_guard;
    child->ended = false;
    sandbox.pid = 0;
    return 0;
}

int jailed_start(const struct image_jail *jail, struct subprocess *child, struct fault *fault)
{
    OWNED(image_plan_release) struct image_plan plan = {0};
    int r = image_plan_build(jail, &plan, fault);
    return r == 0 ? start(jail, &plan, child, fault) : r;
}

int jailed_check(const struct subprocess *child, struct fault *fault)
{
    if (child->error != 0)
        return fault_set(fault, child->error, "%s", child->fault.text);
    return child->status == 0 ? 0
                              : subprocess_fault(child, "a sandboxed process of the fetch", fault);
}

int jailed_run(const struct image_jail *jail, const struct subprocess_observer *observer,
               struct fault *fault)
{
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    int r = jailed_start(jail, &child, fault);
    if (r == 0)
        r = subprocess_wait_all(&child, 1, observer, fault);
    return r == 0 ? jailed_check(&child, fault) : r;
}

static int nothing_body(void *data, struct fault *fault)
{
    (void)data;
    (void)fault;
    return 0;
}

int jailed_probe(const char *root, struct fault *fault)
{
    const struct image_jail jail = {.root = root, .body = nothing_body};
    return jailed_run(&jail, NULL, fault);
}

/* Until the program and all that it has started have ended. */
static int run_program(const struct image_jail *jail, struct image_plan *plan,
                       struct subprocess *child, struct fault *fault)
{
    struct fault cause = {0};
    int r = start(jail, plan, child, &cause);
    if (r == 0)
        r = subprocess_wait_all(child, 1, NULL, &cause);
    if (!child->ended)
        subprocess_end(child);
    if (child->error == ENOENT && child->is_unexecuted)
        return 1;
    if (child->error != 0 && child->is_unexecuted)
        return fault_set(fault, child->error, "cannot execute %s in the image: %s",
                         jail->program->argv[0], strerror(child->error));
    if (r < 0)
        return fault_set(fault, -r, "%s", cause.text);
    if (jail->output != NULL && buffer_append(jail->output, child->out.data, child->out.length) < 0)
        return fault_set(fault, ENOMEM, "no memory for what %s printed", jail->program->argv[0]);
    return child->status == 0 ? 0 : subprocess_fault(child, jail->program->argv[0], fault);
}

int jailed_program(const struct image_jail *jail, const struct image_program *program,
                   struct fault *fault)
{
    struct image_jail spec = *jail;
    spec.program = program;
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    OWNED(image_plan_release) struct image_plan plan = {0};
    struct install_root root = INSTALL_ROOT_NONE;
    struct fault later = {0};
    int r = image_plan_build(&spec, &plan, fault);
    if (r == 0)
        r = install_root_take(&root, &plan.jail, fault);
    if (r == 0)
        r = run_program(&spec, &plan, &child, fault);
    int given_back = install_root_give_back(&root, &later);
    return given_back < 0 ? fault_set(fault, ENOTRECOVERABLE, "%s", later.text) : r;
}
