#include "sandbox/enforcement.h"

const char *enforcer_name(enum enforcer enforcer)
{
    switch (enforcer) {
    case ENFORCER_CGROUP:
        return "cgroup";
    case ENFORCER_RLIMIT:
        return "rlimit";
    case ENFORCER_WATCHED:
        break;
    }
    return "watched";
}

bool enforcement_is_cgroup(const struct enforcement *enforcement)
{
    return enforcement->memory == ENFORCER_CGROUP && enforcement->processes == ENFORCER_CGROUP &&
           enforcement->cpu == ENFORCER_CGROUP;
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
