#include "sandbox/inherited.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int inherited_drop(const struct id_map *map, struct fault *fault)
{
    /* If the client ignored SIGCHLD, waiting for children would fail: wait(2). */
    signal(SIGCHLD, SIG_DFL);
    /* A program that closes its stdin must not end the server: pipe(7). */
    signal(SIGPIPE, SIG_IGN);
    /* Root's groups would stay in force in the new user namespace, which cannot drop them. */
    if (map->outside_uid != geteuid() && setgroups(0, NULL) < 0)
        return fault_set(fault, errno, "cannot leave root's supplementary groups: %m");
    /*
     * This process needs no set-user-id programs either; denying them limits an attacker who takes
     * it over.
     */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
        return fault_set(fault, errno, "cannot set no_new_privs: %m");
    return 0;
}

/* If it cannot be raised, the run that hits it reports that. */
void inherited_raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

unsigned inherited_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (unsigned)CPU_COUNT(&set);
}
