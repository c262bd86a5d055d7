#include "sandbox/limits/enforcement.h"

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
