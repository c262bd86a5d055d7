#include "sandbox/jail/child/steps.h"
#include "sandbox/jail/child/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Missing in the headers of Debian 12: landlock(7). */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14) /* ABI 3 */
#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0) /* ABI 6 */
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
};

/* A rule for anything but a directory may only name rights that apply to files: WRITE_ACCESS. */
#define WRITE_ACCESS                                                                               \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |   \
     ACCESS_TRUNCATE)
#define READ_ACCESS                                                                                \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define KEEP_ACCESS                                                                                \
    (READ_ACCESS | WRITE_ACCESS | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |    \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)
/* Refused unless a rule allows it. No rule allows making devices. */
#define HANDLED_ACCESS (KEEP_ACCESS | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

static uint64_t access_of(enum path_rights rights)
{
    switch (rights) {
    case RIGHTS_READ_FILE:
        return LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE;
    case RIGHTS_WRITE:
        return WRITE_ACCESS;
    case RIGHTS_TERMINALS:
        return LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
               LANDLOCK_ACCESS_FS_READ_DIR;
    case RIGHTS_KEEP_FILES:
        return KEEP_ACCESS;
    case RIGHTS_SHARE_FILES:
        return KEEP_ACCESS &
               ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO);
    case RIGHTS_KEEP_DATA:
        return KEEP_ACCESS & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE;
    case RIGHTS_READ:
        break;
    }
    return READ_ACCESS;
}

static int add_rule(const struct jail *jail, int fd, uint64_t access)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    return syscall(SYS_landlock_add_rule, jail->paths_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
               ? -errno
               : 0;
}

static int add_path(const struct jail *jail, const struct plan_path_rights *rights,
                    uint64_t handled)
{
    enum jail_kind kind = jail->plan->kind;
    bool is_of_host = jail->plan->base == BASE_HOST && kind != JAIL_UNPACK;
    int fd = is_of_host || kind == JAIL_JOINED ? open(rights->path, O_PATH | O_CLOEXEC)
                                               : jail_open_inside(jail, rights->path, 0);
    if (fd < 0 && kind == JAIL_JOINED)
        return -errno;
    if (fd < 0)
        return is_of_host ? (errno == ENOENT ? 0 : -errno) : fd;
    int r = add_rule(jail, fd, access_of(rights->rights) & handled);
    close(fd);
    return r;
}

/* Allows access below a host directory that the body was given, but not above it. */
static int add_given(const struct jail *jail, int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    return S_ISDIR(status.st_mode) ? add_rule(jail, fd, READ_ACCESS) : 0;
}

/*
 * All mounts are in their final places. A rule applies to the file itself, by whatever path it is
 * opened.
 */
int step_choose_paths(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    jail->paths_fd = -1;
    /* The init of a fork must be able to signal the program, which is no child of it: SCOPE_SIGNAL */
    bool is_joined = plan->is_fork && plan->kind != JAIL_JOINED;
    if (plan->landlock_abi == 0 || is_joined)
        return 0;
    struct ruleset ruleset = {.files = HANDLED_ACCESS};
    if (plan->landlock_abi < 3 || WALL_IS_LEFT_OUT("landlock_truncate"))
        ruleset.files &= ~ACCESS_TRUNCATE;
    if (plan->landlock_abi >= 6)
        ruleset.scopes = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
    /* A kernel accepts a structure longer than it knows if the rest is zero. */
    jail->paths_fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
    if (jail->paths_fd < 0)
        return -errno;
    int r = 0;
    for (size_t i = 0; r == 0 && i < plan->path_rights_count; i++) {
        jail_note(jail, STEP_CHOOSE_PATHS, (int)i);
        r = add_path(jail, &plan->path_rights[i], ruleset.files);
    }
    for (size_t i = 0; r == 0 && i < plan->body_fd_count; i++)
        r = add_given(jail, plan->body_fds[i]);
    return r;
}

int jail_restrict_paths(const struct jail *jail)
{
    return syscall(SYS_landlock_restrict_self, jail->paths_fd, 0) < 0 ? -errno : 0;
}

int jail_restrict_ptrace(struct jail *jail)
{
    /* Every ruleset refuses to move files from one directory to another, unless it allows that: landlock(7). */
    const struct ruleset ruleset = {.files =
                                        LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_REFER};
    jail->paths_fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
    int root = jail->paths_fd < 0 ? -1 : open("/", O_PATH | O_CLOEXEC);
    int r = root < 0 ? -errno : add_rule(jail, root, LANDLOCK_ACCESS_FS_REFER);
    if (r == 0)
        r = jail_restrict_paths(jail);
    close(root);
    close(jail->paths_fd);
    return r;
}

int step_restrict_paths(struct jail *jail)
{
    if (jail->paths_fd < 0)
        return 0;
    int r = jail_restrict_paths(jail);
    close(jail->paths_fd);
    return r;
}
