#include "sandbox/jail/child/steps.h"
#include "sandbox/jail/child/wall.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Disables every special treatment of uid 0, and locks that: capabilities(7). Not SECBIT_KEEP_CAPS: there will be
 * no capability to be kept, and ping(8) fails where it cannot ask for that.
 */
#define SECUREBITS_LOCKED                                                                          \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                               \
     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                                 \
     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int step_leave_keyring(struct jail *jail)
{
    (void)jail;
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return -errno; /* ENOSYS: a kernel without keyrings */
    return 0;
}

int step_lock_securebits(struct jail *jail)
{
    (void)jail;
    return prctl(PR_SET_SECUREBITS, (unsigned long)SECUREBITS_LOCKED) < 0 ? -errno : 0;
}

/* No later execve can regain these. Init keeps its own capabilities for now: capabilities(7). */
int step_bound_capabilities(struct jail *jail)
{
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL) < 0) {
        return -errno;
    }
    for (int capability = 0; capability <= jail->plan->last_capability; capability++) {
        jail_note(jail, STEP_BOUND_CAPABILITIES, capability);
        if (prctl(PR_CAPBSET_DROP, (unsigned long)capability) < 0)
            return -errno;
    }
    return 0;
}

int step_drop_capabilities(struct jail *jail)
{
    (void)jail;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int step_no_new_privileges(struct jail *jail)
{
    (void)jail;
    return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0 ? -errno : 0;
}

/*
 * Permanently disables the kinds of speculative execution that have leaked secrets, if the kernel
 * allows that for one process. If not, the processor is not vulnerable, or a machine-wide setting
 * is in force.
 */
int step_control_speculation(struct jail *jail)
{
    (void)jail;
    static const unsigned long kinds[] = {PR_SPEC_STORE_BYPASS, PR_SPEC_INDIRECT_BRANCH};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        int state = prctl(PR_GET_SPECULATION_CTRL, kinds[i], 0UL, 0UL, 0UL);
        if (state < 0 && errno != ENODEV && errno != EINVAL) /* unknown to this kernel */
            return -errno;
        if (state < 0 || (state & PR_SPEC_PRCTL) == 0)
            continue;
        if (prctl(PR_SET_SPECULATION_CTRL, kinds[i], (unsigned long)PR_SPEC_FORCE_DISABLE, 0UL,
                  0UL) < 0)
            return -errno;
    }
    return 0;
}

/*
 * A transparent huge page of which a process has given up all but one page is kept as a whole, and shows nowhere but to a
 * cgroup. The program inherits the option, and no profile lets it take that back.
 */
int step_refuse_huge_pages(struct jail *jail)
{
    return jail->plan->polls_memory && prctl(PR_SET_THP_DISABLE, 1UL, 0UL, 0UL, 0UL) < 0 ? -errno
                                                                                         : 0;
}

static int install(const struct sock_fprog *filter)
{
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) < 0 ? -errno : 0;
}

/* The last filter forbids further ones. */
int jail_install_filters(const struct jail_plan *plan)
{
    int r = 0;
    bool is_joined = plan->kind == JAIL_JOINED && plan->joined_filter_length > 0;
    const struct sock_fprog filter = {
        (unsigned short)(is_joined ? plan->joined_filter_length : plan->filter_length),
        (struct sock_filter *)(is_joined ? plan->joined_filter : plan->filter)};
    size_t additions = WALL(filter_additions, plan->additions.count);
    for (size_t i = 0; r == 0 && i < additions; i++)
        r = install(&plan->additions.list[i]);
    return r == 0 ? install(&filter) : r;
}

int step_install_filter(struct jail *jail)
{
    return jail->plan->filters_program ? 0 : jail_install_filters(jail->plan);
}
