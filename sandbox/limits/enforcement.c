#include "sandbox/limits/enforcement.h"

#include "sandbox/limits/proc_usage.h"

#include <errno.h>

const char *enforced_by_name(enum enforced_by mechanism)
{
    switch (mechanism) {
    case ENFORCED_BY_CGROUP:
        return "cgroup";
    case ENFORCED_BY_RLIMIT:
        return "rlimit";
    case ENFORCED_BY_POLLING:
        break;
    }
    return "watched";
}

bool enforcement_is_cgroup(const struct enforcement *enforcement)
{
    return enforcement->memory == ENFORCED_BY_CGROUP &&
           enforcement->processes == ENFORCED_BY_CGROUP && enforcement->cpu == ENFORCED_BY_CGROUP;
}

const char *enforcement_tier(const struct enforcement *enforcement)
{
    return enforcement_is_cgroup(enforcement) ? "cgroup" : "rlimit";
}

const char *cgroup_source_name(enum cgroup_source source)
{
    switch (source) {
    case CGROUP_OWN:
        return "own";
    case CGROUP_SYSTEMD:
        return "systemd";
    case CGROUP_NONE:
        break;
    }
    return "none";
}

int enforcement_check(const struct enforcement *enforcement, bool requires_cgroup,
                      const struct fault *reason, struct fault *fault)
{
    if (enforcement_is_cgroup(enforcement))
        return 0;
    if (requires_cgroup) {
        fault_identify(fault, "cgroup_required");
        return fault_set(fault, EOPNOTSUPP, "cgroups are required (--require-cgroup), but %s",
                         reason->text);
    }
    const char *missing = proc_usage_missing("/proc");
    if (missing == NULL)
        return 0;
    fault_identify(fault, "limits_unwatched");
    return fault_set(
        fault, errno,
        "nothing would hold the limits of a run: %s, and /proc/%s, by which the server would watch "
        "it, cannot be read: %m (is /proc mounted, and does the kernel have CONFIG_PROC_CHILDREN?)",
        reason->text, missing);
}
