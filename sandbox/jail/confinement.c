#include "sandbox/jail/confinement.h"

#include "sandbox/base/owned.h"

#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Missing in the headers of Debian 12: landlock(7). */
#define LANDLOCK_TRUNCATE (UINT64_C(1) << 14) /* ABI 3 */
#define LANDLOCK_IOCTL_DEVICE (UINT64_C(1) << 15) /* ABI 5 */
#define LANDLOCK_ALL_1 ((UINT64_C(1) << 13) - 1) /* ABI 1: EXECUTE to MAKE_SYM */

int confinement_keep_capabilities(uint32_t kept, struct fault *fault)
{
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

static int allow_reading(int ruleset_fd, int fd)
{
    struct stat about;
    if (fstat(fd, &about) < 0)
        return -errno;
    struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
                          (S_ISDIR(about.st_mode) ? LANDLOCK_ACCESS_FS_READ_DIR : 0),
        .parent_fd = fd,
    };
    return syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
               ? -errno
               : 0;
}

/* A kernel without Landlock leaves the other walls. */
static int restrict_paths(const int *fds, size_t count, struct fault *fault)
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
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (fds[i] >= 0)
            r = allow_reading(fd, fds[i]);
    }
    if (r == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        r = -errno;
    return r < 0 ? fault_set(fault, -r, "cannot restrict this process with Landlock: %m") : 0;
}

int confinement_read_only(const int *fds, size_t count, struct fault *fault)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
        return fault_set(fault, errno, "cannot give up new privileges: %m");
    return restrict_paths(fds, count, fault);
}

int confinement_install(const struct filter *filter, struct fault *fault)
{
    struct sock_fprog program = {.len = filter->length, .filter = filter->code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0
               ? fault_set(fault, errno, "cannot install the system call filter: %m")
               : 0;
}
