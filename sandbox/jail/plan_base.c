#include "sandbox/jail/plan_base.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/last_capability.h"
#include "sandbox/jail/proc_file.h"
#include "sandbox/jail/rlimits.h"
#include "sandbox/limits/limits.h"
#include "sandbox/network/link.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct plan_device devices[] = {
    {"/dev/null", "null"},     {"/dev/zero", "zero"},       {"/dev/full", "full"},
    {"/dev/random", "random"}, {"/dev/urandom", "urandom"},
};

static const struct plan_link dev_links[] = {
    {"fd", "/proc/self/fd"},
    {"stdin", "/proc/self/fd/0"},
    {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"},
};

/*
 * Files of /proc that reveal the host and its user rather than the sandbox. The names of a user's
 * keys are visible to every process with that user id; the kernel's command line may name disks and
 * contain secrets; the boot id identifies the machine; the list of locks includes other processes'
 * files.
 */
static const char *const masks[] = {
    "keys",       "key-users", "cmdline", "sys/kernel/random/boot_id",
    "partitions", "diskstats", "locks",   "swaps",
    "misc",       "config.gz", "fs/",     "bus/",
    "pressure/",  NULL,
};

/* What a written /proc has. They tell of the machine, and nothing of its processes or users. */
static const char *const proc_copies[] = {"cpuinfo", "filesystems", "loadavg", "meminfo",
                                          "stat",    "uptime",      "version", NULL};

/*
 * The kernel counts each of these against the user outside as well: without a separate limit, a
 * snippet could use up the user's quota. No further user namespaces; the filter also refuses them.
 */
static const struct plan_user_limit user_limits[] = {
    {"sys/user/max_user_namespaces", "0"},
    {"sys/user/max_inotify_instances", "16"},
    {"sys/user/max_inotify_watches", "4096"},
    /* With a network: the broker, without any privilege, listens at all ports of its namespace; */
    {"sys/net/ipv4/ip_unprivileged_port_start", "0"},
    /* and no address answers a ping that it does not have. */
    {"sys/net/ipv4/icmp_echo_ignore_all", "1"},
    /* Where this user may ping, so may snippets: the group of the jail. */
    {"sys/net/ipv4/ping_group_range", "1000 1000"},
};
#define NETWORK_LIMITS 3 /* the last ones; the very last for ping */

/* What the jails of each tier are made of. */
static const struct tier_jail {
    enum jail_base base;
    bool copies_proc;
    int landlock_needed; /* version, at least; 0: it is one wall more where there is one */
} tier_jails[TIER_COUNT] = {
    [TIER_F] = {BASE_NAMESPACES, false, 0},
    [TIER_P] = {BASE_NAMESPACES, true, 0},
    [TIER_C] = {BASE_CHROOT, true, 0},
    [TIER_L] = {BASE_HOST, false, 3}, /* an older one lets files be truncated */
};

int jail_host_read(struct jail_host *ret_host, struct fault *fault)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    ret_host->last_capability = last_capability();
    ret_host->landlock_abi = abi >= 2 ? (int)abi : 0; /* Linux 5.19: landlock(7) */
    return proc_file_find_command_line(&ret_host->command_line, &ret_host->command_line_size,
                                       fault);
}

int jail_host_check_tier(const struct jail_host *host, bool has_folders, struct fault *fault)
{
    const struct tier_jail *jail = &tier_jails[host->tier];
    if (has_folders && jail->base != BASE_NAMESPACES)
        return fault_set(
            fault, EOPNOTSUPP,
            "snippets cannot have folders in tier %s, because they take mounts: start without --mount "
            "or --workdir",
            tier_name(host->tier));
    if (host->landlock_abi >= jail->landlock_needed)
        return 0;
    fault_identify(fault, "landlock_needed");
    return fault_set(fault, EOPNOTSUPP,
                     "tier %s needs Landlock, version %d or later (Linux %s); this host has %s",
                     tier_name(host->tier), jail->landlock_needed, "6.2",
                     host->landlock_abi == 0 ? "none, or hides it" : "an older one");
}

void plan_base_fill(struct jail_plan *plan, enum jail_kind kind, const struct jail_host *host)
{
    plan->kind = kind;
    plan->base = tier_jails[host->tier].base;
    plan->hostname = LINK_JAIL_NAME;
    plan->init_name = "sandbox-init";
    plan->command_line = host->command_line;
    plan->command_line_size = host->command_line_size;
    plan->last_capability = host->last_capability;
    plan->landlock_abi = host->landlock_abi;
    plan->devices = devices;
    plan->device_count = ARRAY_LENGTH(devices);
    plan->dev_links = dev_links;
    plan->dev_link_count = ARRAY_LENGTH(dev_links);
    plan->user_limits = user_limits;
    plan_base_set_network(plan, -1, false);
    if (tier_jails[host->tier].copies_proc) {
        plan->proc_copies = proc_copies;
        return;
    }
    plan->masks = masks;
}

enum tier plan_base_tier(const struct jail_plan *plan)
{
    enum tier tier = TIER_F;
    while (tier + 1 < TIER_COUNT && (tier_jails[tier].base != plan->base ||
                                     tier_jails[tier].copies_proc != (plan->proc_copies != NULL)))
        tier++;
    return tier;
}

const char *plan_base_isolation(const struct jail_plan *plan)
{
    return isolation_name(plan_base_tier(plan), plan->landlock_abi);
}

void plan_base_set_network(struct jail_plan *plan, int link_fd, bool may_ping)
{
    size_t left_out = link_fd < 0 ? NETWORK_LIMITS : !may_ping;
    plan->network_fd = link_fd;
    plan->user_limit_count = ARRAY_LENGTH(user_limits) - left_out;
}

void plan_add_rlimit(struct jail_plan *plan, int resource, rlim_t limit)
{
    struct plan_rlimit *added = (struct plan_rlimit *)&plan->rlimits[plan->rlimit_count++];
    rlim_t own = rlimit_hard(resource);
    added->resource = resource;
    added->limit = added->hard = own < limit ? own : limit;
}

void plan_add_base_rlimits(struct jail_plan *plan)
{
    /* Not 0: only at 1 does the kernel not start a program named in core_pattern. core(5) */
    plan_add_rlimit(plan, RLIMIT_CORE, 1);
    plan_add_rlimit(plan, RLIMIT_SIGPENDING, RUN_SIGNALS_QUEUED_MAX);
    plan_add_rlimit(plan, RLIMIT_MEMLOCK, RUN_LOCKED_MEMORY_MAX);
    /* Users in an audio group may often use real-time priority; a jail may not. */
    plan_add_rlimit(plan, RLIMIT_RTPRIO, 0);
    plan_add_rlimit(plan, RLIMIT_NICE, 0);
    /* Not more, either: without a limit, the kernel places libraries where they are easier to guess. */
    plan_add_rlimit(plan, RLIMIT_STACK, RUN_STACK);
    struct plan_rlimit *stack = (struct plan_rlimit *)&plan->rlimits[plan->rlimit_count - 1];
    stack->hard = rlimit_hard(RLIMIT_STACK);
}
