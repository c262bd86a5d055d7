#include "mcp/changes/confine.h"

#include "mcp/base/bounds.h"
#include "sandbox/base/owned.h"
#include "seccomp-profiles/changes-comparing-profile.h"
#include "seccomp-profiles/changes-reading-profile.h"

#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Missing in the headers of Debian 12: landlock(7). */
#define LANDLOCK_TRUNCATE (UINT64_C(1) << 14) /* ABI 3 */
#define LANDLOCK_IOCTL_DEVICE (UINT64_C(1) << 15) /* ABI 5 */
#define LANDLOCK_ALL_1 ((UINT64_C(1) << 13) - 1) /* ABI 1: EXECUTE to MAKE_SYM */

/* Two directories on each level, and some. */
#define DESCRIPTORS_MAX (2 * CHANGES_DEPTH_MAX + 64)

#ifdef __SANITIZE_ADDRESS__ /* reserves terabytes */
#define MEMORY_MAX RLIM_INFINITY
#else
#define MEMORY_MAX CHANGES_MEMORY_MAX
#endif

int confine_prepare(struct confinement *confinement, struct fault *fault)
{
    int r = filter_compile(changes_reading_profile_json, sizeof(changes_reading_profile_json), NULL,
                           &confinement->reading, fault);
    return r < 0 ? r
                 : filter_compile(changes_comparing_profile_json,
                                  sizeof(changes_comparing_profile_json), NULL,
                                  &confinement->comparing, fault);
}

void confine_release(struct confinement *confinement)
{
    filter_release(&confinement->reading);
    filter_release(&confinement->comparing);
}

static int limit_resources(struct fault *fault)
{
    static const struct {
        __rlimit_resource_t resource;
        rlim_t most;
    } limits[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_AS, MEMORY_MAX},
        {RLIMIT_CPU, CHANGES_CPU_MAX_S},
        {RLIMIT_FSIZE, CHANGES_PATCH_MAX},
        {RLIMIT_NOFILE, DESCRIPTORS_MAX},
    };
    _Static_assert(CHANGES_REPORT_MAX <= CHANGES_PATCH_MAX, "one limit serves both");
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit) < 0)
            return fault_set(fault, errno, "cannot read a resource limit: %m");
        limit.rlim_max = limits[i].most < limit.rlim_max ? limits[i].most : limit.rlim_max;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(limits[i].resource, &limit) < 0)
            return fault_set(fault, errno, "cannot set a resource limit: %m");
    }
    return 0;
}

/* A server of root reads files of others; it needs no other capability here. */
static int drop_capabilities(struct fault *fault)
{
    const uint32_t kept = 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return fault_set(fault, errno, "cannot read the capabilities: %m");
    data[0] = (struct __user_cap_data_struct){.effective = data[0].effective & kept,
                                              .permitted = data[0].permitted & kept};
    data[1] = (struct __user_cap_data_struct){0};
    return syscall(SYS_capset, &header, data) < 0
               ? fault_set(fault, errno, "cannot drop capabilities: %m")
               : 0;
}

static int allow_reading(int ruleset_fd, int directory_fd)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = directory_fd,
    };
    return syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
               ? -errno
               : 0;
}

/* A kernel without Landlock leaves the other walls. */
static int restrict_paths(const int directory_fds[2], struct fault *fault)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1)
        return 0;
    struct landlock_ruleset_attr attributes = {
        .handled_access_fs = LANDLOCK_ALL_1 | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
                             (abi >= 3 ? LANDLOCK_TRUNCATE : 0) |
                             (abi >= 5 ? LANDLOCK_IOCTL_DEVICE : 0),
    };
    OWNED_FD int fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    if (fd < 0)
        return fault_set(fault, errno, "cannot make a Landlock ruleset: %m");
    int r = allow_reading(fd, directory_fds[0]);
    if (r == 0)
        r = allow_reading(fd, directory_fds[1]);
    if (r == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        r = -errno;
    return r < 0 ? fault_set(fault, -r, "cannot restrict this process with Landlock: %m") : 0;
}

static int install(const struct filter *filter, struct fault *fault)
{
    struct sock_fprog program = {.len = filter->length, .filter = filter->code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0
               ? fault_set(fault, errno, "cannot install the system call filter: %m")
               : 0;
}

int confine_reading(const struct confinement *confinement, const int directory_fds[2],
                    struct fault *fault)
{
    int r = limit_resources(fault);
    if (r == 0)
        r = drop_capabilities(fault);
    if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
        r = fault_set(fault, errno, "cannot give up new privileges: %m");
    if (r == 0)
        r = restrict_paths(directory_fds, fault);
    return r < 0 ? r : install(&confinement->reading, fault);
}

int confine_comparing(const struct confinement *confinement, struct fault *fault)
{
    return install(&confinement->comparing, fault);
}
