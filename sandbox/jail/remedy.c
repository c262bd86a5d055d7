#include "sandbox/jail/remedy.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The first version with all that a jail needs, and with clone3. */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 14
#define KERNEL_MINOR_CLONE3 3
#define USUAL_LIMIT 15000 /* of namespaces; the kernel's own depends on the memory */

#define WHOLE_PROC_OF_DOCKER "--security-opt systempaths=unconfined"
#define PROFILE_COMMAND "code-sandbox-mcp doctor --profile "

static bool is_refusal(int error)
{
    return error == EPERM || error == EACCES;
}

static bool is_before(const struct host_facts *facts, int minor)
{
    return facts->kernel_major > 0 &&
           (facts->kernel_major < KERNEL_MAJOR ||
            (facts->kernel_major == KERNEL_MAJOR && facts->kernel_minor < minor));
}

/* How to start a container in which a jail can be made. */
static void advise_container(const struct host_facts *facts, struct remedy *remedy)
{
    const char *apparmor = facts->apparmor[0] != '\0' ? " --security-opt apparmor=unconfined" : "";
    switch (facts->container) {
    case CONTAINER_PODMAN:
        snprintf(remedy->action, sizeof(remedy->action),
                 "save the output of `" PROFILE_COMMAND "docker` as seccomp.json, and start the "
                 "container with: podman run --security-opt seccomp=seccomp.json --security-opt "
                 "unmask=ALL%s",
                 apparmor);
        break;
    case CONTAINER_KUBERNETES:
        snprintf(remedy->action, sizeof(remedy->action),
                 "start the pod with the settings that `" PROFILE_COMMAND "kubernetes` prints");
        break;
    case CONTAINER_NONE:
        snprintf(remedy->action, sizeof(remedy->action),
                 "start this program outside of what limits it so (Seccomp: 2 in "
                 "/proc/self/status)");
        break;
    case CONTAINER_DOCKER:
    case CONTAINER_OTHER:
        snprintf(remedy->action, sizeof(remedy->action),
                 "save the output of `" PROFILE_COMMAND "docker` as seccomp.json, and start the "
                 "container with: docker run --security-opt seccomp=seccomp.json --security-opt "
                 "systempaths=unconfined%s",
                 apparmor);
        break;
    }
}

static void blame_filter(const struct host_facts *facts, const char *what, struct remedy *remedy)
{
    snprintf(remedy->cause, sizeof(remedy->cause), "a seccomp filter%s %s",
             container_clause(facts->container), what);
    advise_container(facts, remedy);
}

static void blame_kernel(const struct host_facts *facts, struct remedy *remedy)
{
    snprintf(remedy->cause, sizeof(remedy->cause),
             "Linux %s is too old: sandboxes need version %d.%d", facts->kernel, KERNEL_MAJOR,
             KERNEL_MINOR);
    snprintf(remedy->action, sizeof(remedy->action), "use a newer kernel");
}

static void advise_apparmor(const struct host_facts *facts, struct remedy *remedy)
{
    bool is_inherited = facts->apparmor[0] != '\0' && facts->apparmor_is_parents;
    /* A program inheriting its profile does not get one for its path. */
    if (is_inherited && facts->program[0] != '\0')
        snprintf(remedy->action, sizeof(remedy->action),
                 "add the rule \"%s Ux,\" to the profile %s, which this program inherits, and load "
                 "it again with apparmor_parser -r",
                 facts->program, facts->apparmor);
    else
        snprintf(remedy->action, sizeof(remedy->action),
                 PROFILE_COMMAND
                 "apparmor | sudo tee /etc/apparmor.d/code-sandbox-mcp >/dev/null && "
                 "sudo apparmor_parser -r /etc/apparmor.d/code-sandbox-mcp");
}

/* True if a setting of AppArmor is the cause. */
static bool blame_apparmor(const struct host_facts *facts, struct remedy *remedy)
{
    if (facts->apparmor[0] != '\0' && facts->container != CONTAINER_NONE) {
        snprintf(remedy->cause, sizeof(remedy->cause),
                 "the AppArmor profile %s%s does not allow it", facts->apparmor,
                 container_clause(facts->container));
        advise_container(facts, remedy);
        return true;
    }
    if (facts->apparmor[0] != '\0') {
        snprintf(remedy->cause, sizeof(remedy->cause),
                 "the AppArmor profile %s of this process does not allow it", facts->apparmor);
        advise_apparmor(facts, remedy);
        return true;
    }
    if (facts->apparmor_restricts > 0) {
        snprintf(remedy->cause, sizeof(remedy->cause),
                 "AppArmor lets only programs with a profile use user namespaces "
                 "(kernel.apparmor_restrict_unprivileged_userns is 1)");
        advise_apparmor(facts, remedy);
        return true;
    }
    return false;
}

static void blame_refusal(const struct host_facts *facts, struct remedy *remedy)
{
    if (facts->userns_clone == 0) {
        snprintf(remedy->cause, sizeof(remedy->cause),
                 "ordinary users may not make user namespaces (kernel.unprivileged_userns_clone is "
                 "0)");
        snprintf(remedy->action, sizeof(remedy->action),
                 "sudo sysctl -w kernel.unprivileged_userns_clone=1");
    } else if (facts->has_filter) {
        blame_filter(facts, "refuses it", remedy);
    } else if (!blame_apparmor(facts, remedy)) {
        snprintf(remedy->cause, sizeof(remedy->cause),
                 "this machine does not let ordinary users set up namespaces: a security module "
                 "refuses them, or this process is in a chroot(2)");
        if (facts->container != CONTAINER_NONE)
            advise_container(facts, remedy);
    }
}

static const char *limit_name(enum namespace_kind kind)
{
    return namespace_limit_path(kind) + strlen("/proc/sys/user/");
}

/* One of these limits is reached. */
static void blame_limit(const struct host_facts *facts, const enum namespace_kind *kinds,
                        size_t count, struct remedy *remedy)
{
    char names[REMEDY_TEXT_MAX / 2] = "";
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        if (facts->limits[kinds[i]] == 0) {
            snprintf(remedy->cause, sizeof(remedy->cause),
                     "an administrator has switched such namespaces off (%s is 0)",
                     namespace_limit_path(kinds[i]));
            snprintf(remedy->action, sizeof(remedy->action), "sudo sysctl -w user.%s=%d",
                     limit_name(kinds[i]), USUAL_LIMIT);
            return;
        }
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i == 0 ? "" : " or ", limit_name(kinds[i]));
    }
    snprintf(remedy->cause, sizeof(remedy->cause),
             "the limit of namespaces is reached, here or in a container around this one (%s in "
             "/proc/sys/user)",
             names);
    snprintf(remedy->action, sizeof(remedy->action),
             "end programs with namespaces of their own, or raise the limit with sysctl(8)");
}

static void blame_masked_proc(const struct host_facts *facts, struct remedy *remedy)
{
    static const char *const actions[] = {
        [CONTAINER_NONE] = "unmount what `findmnt -R /proc` lists below /proc",
        [CONTAINER_DOCKER] = "start the container with: docker run " WHOLE_PROC_OF_DOCKER,
        [CONTAINER_PODMAN] = "start the container with: podman run --security-opt unmask=ALL",
        [CONTAINER_KUBERNETES] =
            "start the pod with the settings that `" PROFILE_COMMAND "kubernetes` prints",
        [CONTAINER_OTHER] = "start the container with a whole /proc (" WHOLE_PROC_OF_DOCKER ")",
    };
    snprintf(remedy->cause, sizeof(remedy->cause),
             "parts of /proc are hidden here, and the kernel then refuses a new one");
    snprintf(remedy->action, sizeof(remedy->action), "%s", actions[facts->container]);
}

static bool find_for_processes(int error, const struct host_facts *facts, struct remedy *remedy)
{
    if (error == EAGAIN)
        snprintf(remedy->cause, sizeof(remedy->cause), PROCESSES_HELP);
    else if (is_refusal(error))
        blame_refusal(facts, remedy);
    return error == EAGAIN || is_refusal(error);
}

static bool find_for_clone(int error, const struct host_facts *facts, struct remedy *remedy)
{
    static const enum namespace_kind kinds[] = {NAMESPACE_USER, NAMESPACE_PID};
    switch (error) {
    case ENOSYS:
        if (is_before(facts, KERNEL_MINOR_CLONE3))
            blame_kernel(facts, remedy);
        else
            blame_filter(facts, "hides the system call clone3", remedy);
        return true;
    case ENOSPC:
    case EUSERS:
        blame_limit(facts, kinds, ARRAY_LENGTH(kinds), remedy);
        return true;
    case EINVAL:
        snprintf(remedy->cause, sizeof(remedy->cause),
                 "this kernel (%s) was built without user or pid namespaces", facts->kernel);
        return true;
    default:
        return find_for_processes(error, facts, remedy);
    }
}

static bool find_for_namespaces(unsigned step, int error, const struct host_facts *facts,
                                struct remedy *remedy)
{
    static const enum namespace_kind network[] = {NAMESPACE_NETWORK};
    static const enum namespace_kind others[] = {NAMESPACE_MOUNT, NAMESPACE_IPC, NAMESPACE_UTS,
                                                 NAMESPACE_CGROUP};
    bool is_network = step == STEP_NETWORK_NAMESPACE;
    switch (error) {
    case ENOSPC:
        if (is_network)
            blame_limit(facts, network, ARRAY_LENGTH(network), remedy);
        else
            blame_limit(facts, others, ARRAY_LENGTH(others), remedy);
        return true;
    case EINVAL:
        snprintf(remedy->cause, sizeof(remedy->cause), "this kernel (%s) was built without them",
                 facts->kernel);
        return true;
    default:
        return find_for_processes(error, facts, remedy);
    }
}

static bool find_for_mounts(unsigned step, int error, const struct host_facts *facts,
                            struct remedy *remedy)
{
    if (step == STEP_MAKE_PROC && error == EPERM && facts->is_proc_masked)
        blame_masked_proc(facts, remedy);
    else if (is_refusal(error))
        blame_refusal(facts, remedy);
    return is_refusal(error);
}

static bool find_for_other(int error, const struct host_facts *facts, struct remedy *remedy)
{
    if (error != ENOSYS)
        return false;
    if (is_before(facts, KERNEL_MINOR))
        blame_kernel(facts, remedy);
    else
        blame_filter(facts, "hides system calls that it needs", remedy);
    return true;
}

/* Of a process that AppArmor confines, files and sockets that it may not use. */
static bool find_for_confined(int error, const struct host_facts *facts, struct remedy *remedy)
{
    return error == EACCES && facts->apparmor[0] != '\0' && blame_apparmor(facts, remedy);
}

static bool find(unsigned step, int error, const struct host_facts *facts, struct remedy *remedy)
{
    switch (step) {
    case STEP_CLONE:
        return find_for_clone(error, facts, remedy);
    case STEP_NETWORK_NAMESPACE:
    case STEP_NAMESPACES:
        return find_for_namespaces(step, error, facts, remedy) ||
               find_for_other(error, facts, remedy);
    case STEP_LOOPBACK:
    case STEP_WAIT_FOR_ID_MAP:
    case STEP_TAKE_IDS:
    case STEP_HOSTNAME:
    case STEP_PRIVATE_MOUNTS:
    case STEP_MAKE_PROC:
    case STEP_MAKE_SCRATCH:
    case STEP_MAKE_DEV:
    case STEP_SPLIT_SCRATCH:
    case STEP_MOUNT_PROC:
    case STEP_FILL_DEV:
    case STEP_TERMINALS:
    case STEP_MOUNT_SCRATCH:
    case STEP_PIVOT_ROOT:
        return find_for_mounts(step, error, facts, remedy) || find_for_other(error, facts, remedy);
    default:
        return find_for_confined(error, facts, remedy) || find_for_other(error, facts, remedy);
    }
}

bool remedy_find(unsigned step, int error, const struct host_facts *facts,
                 struct remedy *ret_remedy)
{
    *ret_remedy = (struct remedy){.cause = ""};
    return find(step, error, facts, ret_remedy);
}

struct remedy_clause remedy_clause(unsigned step, int error)
{
    struct remedy_clause clause = {.text = ""};
    struct host_facts facts;
    struct remedy remedy;
    host_facts_read(&facts);
    if (remedy_find(step, error, &facts, &remedy))
        snprintf(clause.text, sizeof(clause.text), "; %s%s%s", remedy.cause,
                 remedy.action[0] != '\0' ? ": " : "", remedy.action);
    return clause;
}
