#include "sandbox/limits/cgroup_subtree.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/limits/cgroup_file.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#define PREFIX "code-sandbox-mcp-"
#define LEAF PREFIX "server"
#define NAME_TRIES 100
#define MOVE_TRIES 8
#define REMOVE_TRIES 50
#define REMOVE_PAUSE_NS 2000000

/* The kernel releases the directory a moment after the end of the last process. */
static bool remove_patiently(int parent_fd, const char *name)
{
    for (int i = 0; i < REMOVE_TRIES; i++) {
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return true;
        const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
        nanosleep(&pause, NULL);
    }
    return false;
}

/*
 * Whether this file creates such names: the prefix, a number, and with a separator another number.
 */
static bool is_numbered(const char *name, const char *prefix, const char *separator)
{
    static const char digits[] = "0123456789";
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    name += strlen(prefix);
    size_t length = strspn(name, digits);
    if (separator[0] != '\0') {
        if (length == 0 || name[length] != separator[0])
            return false;
        name += length + 1;
        length = strspn(name, digits);
    }
    return length > 0 && name[length] == '\0';
}

/* Kills and removes the runs of a dead server. */
static void sweep_runs(int fd)
{
    OWNED(directory_release) DIR *entries = directory_open(fd, ".");
    for (struct dirent *entry; (entry = directory_next(entries)) != NULL;) {
        if (!is_numbered(entry->d_name, "run-", ""))
            continue;
        OWNED_FD int run_fd = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (run_fd >= 0)
            cgroup_write(run_fd, "cgroup.kill", "1");
        remove_patiently(fd, entry->d_name);
    }
}

/* Whether `fd` still is the directory of that name: another server may have swept it. */
static bool is_still(int parent_fd, const char *name, int fd)
{
    struct stat by_name;
    struct stat by_fd;
    return fstatat(parent_fd, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &by_fd) == 0 &&
           by_name.st_ino == by_fd.st_ino;
}

/* A server's lock dies with it: if its directory can be locked, the server is dead. */
static void sweep(int parent_fd)
{
    OWNED(directory_release) DIR *entries = directory_open(parent_fd, ".");
    for (struct dirent *entry; (entry = directory_next(entries)) != NULL;) {
        const char *name = entry->d_name;
        if (!is_numbered(name, PREFIX, "-"))
            continue;
        OWNED_FD int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_still(parent_fd, name, fd))
            continue;
        sweep_runs(fd);
        remove_patiently(parent_fd, name);
    }
}

static int make_own(struct cgroup_subtree *subtree, struct fault *fault)
{
    int r = -EEXIST;
    for (int i = 0; i < NAME_TRIES && (r == -EEXIST || r == -ESTALE); i++) {
        snprintf(subtree->name, sizeof(subtree->name), PREFIX "%d-%d", (int)getpid(), i);
        if (mkdirat(subtree->parent_fd, subtree->name, 0755) < 0) {
            r = -errno;
            continue;
        }
        fd_close(&subtree->fd);
        subtree->fd = openat(subtree->parent_fd, subtree->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (subtree->fd < 0)
            r = -errno;
        else if (flock(subtree->fd, LOCK_EX | LOCK_NB) < 0 ||
                 !is_still(subtree->parent_fd, subtree->name, subtree->fd))
            r = -ESTALE;
        else
            r = 0;
    }
    return r < 0 ? fault_set(fault, -r, "creating a cgroup in it failed: %m") : 0;
}

/* Moves every process of the directory into the leaf, which takes milliseconds for each. */
static int move_all(int parent_fd, int leaf_fd, struct fault *fault)
{
    char text[PROCESS_LIST_MAX];
    int r = text_file_read(parent_fd, "cgroup.procs", text, sizeof(text));
    char *rest = NULL;
    int moved = 0;
    for (char *pid = strtok_r(text, "\n", &rest); r == 0 && pid != NULL;
         pid = strtok_r(NULL, "\n", &rest)) {
        if (strcmp(pid, "0") == 0) /* a process of an outer pid namespace */
            return fault_set(fault, EBUSY, "processes of another container are in it");
        if (++moved > PROCESSES_MOVED_MAX)
            return fault_set(fault, EBUSY, "more than %d other processes are in it",
                             PROCESSES_MOVED_MAX);
        r = cgroup_write(leaf_fd, "cgroup.procs", pid);
        r = r == -ESRCH ? 0 : r;
    }
    return r;
}

/* Whether this process is the only one in the directory itself. */
static bool is_alone(int parent_fd)
{
    char text[PROCESS_LIST_MAX];
    char self[32];
    snprintf(self, sizeof(self), "%d\n", (int)getpid());
    return text_file_read(parent_fd, "cgroup.procs", text, sizeof(text)) == 0 &&
           strcmp(text, self) == 0;
}

/* One by one, because the kernel refuses all if one is missing. */
static void enable_controllers(int fd, unsigned wanted)
{
    for (unsigned controller = 1; controller <= CONTROLLERS_ALL; controller <<= 1) {
        char text[32];
        snprintf(text, sizeof(text), "+%s", cgroup_controller_name(controller));
        if ((wanted & controller) != 0)
            cgroup_write(fd, "cgroup.subtree_control", text);
    }
}

/*
 * Except at the root of the hierarchy, a cgroup can enable controllers for its children only while
 * no process is in the cgroup itself.
 */
static int leave_directory(int parent_fd, enum cgroup_exclusivity exclusivity, struct fault *fault)
{
    if (mkdirat(parent_fd, LEAF, 0755) < 0 && errno != EEXIST)
        return fault_set(fault, errno, "creating a cgroup in it failed: %m");
    OWNED_FD int leaf_fd = openat(parent_fd, LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = leaf_fd < 0 ? -errno : 0;
    if (r == 0)
        r = exclusivity == CGROUP_SHARED ? move_all(parent_fd, leaf_fd, fault)
                                         : cgroup_write(leaf_fd, "cgroup.procs", "0");
    return r < 0 ? fault_set(fault, -r, "moving out of it failed: %m") : 0;
}

static int take_controllers(struct cgroup_subtree *subtree, bool must_leave,
                            enum cgroup_exclusivity exclusivity, struct fault *fault)
{
    int parent_fd = subtree->parent_fd;
    unsigned wanted = cgroup_read_controllers(parent_fd, "cgroup.controllers") & CONTROLLERS_ALL;
    /* Processes forked meanwhile are in it again. */
    for (int i = 0; i < MOVE_TRIES; i++) {
        int r = must_leave ? leave_directory(parent_fd, exclusivity, fault) : 0;
        if (r < 0)
            return r;
        enable_controllers(parent_fd, wanted);
        unsigned enabled = cgroup_read_controllers(parent_fd, "cgroup.subtree_control");
        if ((enabled & wanted) == wanted)
            break;
    }
    enable_controllers(subtree->fd, wanted);
    subtree->controllers = cgroup_read_controllers(subtree->fd, "cgroup.subtree_control");
    if (subtree->controllers == 0)
        return fault_set(fault, EBUSY, "no controller could be enabled in it");
    return 0;
}

/* For all runs at once: memory over a limit must not go to swap instead. */
static int forbid_swap(const struct cgroup_subtree *subtree, struct fault *fault)
{
    int r = cgroup_write(subtree->fd, "memory.swap.max", "0");
    if (r == 0 || r == -ENOENT) /* a kernel without swap, or no memory controller */
        return 0;
    return fault_set(fault, -r, "cannot set memory.swap.max in it to 0: %m");
}

/* Root may write anywhere, but must not change what systemd manages and has not delegated. */
static bool belongs_to_systemd(int fd)
{
    char value[8] = "";
    return geteuid() == 0 && access("/run/systemd/system", F_OK) == 0 &&
           fgetxattr(fd, "trusted.delegate", value, sizeof(value) - 1) <= 0 &&
           fgetxattr(fd, "user.delegate", value, sizeof(value) - 1) <= 0;
}

static int check_directory(int fd, const struct cgroup_location *place,
                           enum cgroup_exclusivity exclusivity, bool must_leave,
                           struct fault *fault)
{
    static const char *const files[] = {".", "cgroup.procs", "cgroup.subtree_control"};
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        if (faccessat(fd, files[i], W_OK, AT_EACCESS) < 0)
            return fault_set(fault, errno, "this program has no permission to change it: %m");
    }
    if (belongs_to_systemd(fd))
        return fault_set(fault, EPERM, "systemd has not delegated it");
    unsigned offered = cgroup_read_controllers(fd, "cgroup.controllers");
    if (offered == 0)
        return fault_set(fault, ENOENT, "it has no controllers");
    unsigned missing = place->controllers & ~offered;
    if (exclusivity == CGROUP_EXCLUSIVE && missing != 0)
        return fault_set(fault, ENOENT, "it lacks the %s controller",
                         cgroup_controller_name(missing & -missing)); /* the first of them */
    /* Under systemd, other processes must stay where they are. */
    bool may_move = exclusivity == CGROUP_SHARED && access("/run/systemd/system", F_OK) < 0;
    if (!may_move && must_leave && !is_alone(fd))
        return fault_set(fault, EBUSY, "there are other processes in it");
    return 0;
}

/* A server that was started in a leaf takes over the directory above it. */
static char *directory_to_take(const char *directory, bool *ret_in_leaf)
{
    const char *slash = strrchr(directory, '/');
    *ret_in_leaf = slash != NULL && slash > directory && strcmp(slash + 1, LEAF) == 0;
    return *ret_in_leaf ? strndup(directory, (size_t)(slash - directory)) : strdup(directory);
}

int cgroup_subtree_take(const struct cgroup_location *place, enum cgroup_exclusivity exclusivity,
                        struct cgroup_subtree *ret_subtree, struct fault *fault)
{
    OWNED(cgroup_subtree_release) struct cgroup_subtree subtree = CGROUP_SUBTREE_NONE;
    bool in_leaf = false;
    OWNED_MEMORY char *path = directory_to_take(place->directory, &in_leaf);
    if (path == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a path");
    subtree.parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (subtree.parent_fd < 0)
        return fault_set(fault, errno, "it cannot be opened: %m");
    bool must_leave = !in_leaf && faccessat(subtree.parent_fd, "cgroup.type", F_OK, 0) == 0;
    int r = check_directory(subtree.parent_fd, place, exclusivity, must_leave, fault);
    if (r < 0)
        return r;
    sweep(subtree.parent_fd);
    r = make_own(&subtree, fault);
    if (r == 0)
        r = take_controllers(&subtree, must_leave, exclusivity, fault);
    if (r == 0)
        r = forbid_swap(&subtree, fault);
    if (r < 0) {
        if (must_leave)
            cgroup_write(subtree.parent_fd, "cgroup.procs", "0");
        unlinkat(subtree.parent_fd, LEAF, AT_REMOVEDIR);
        return r;
    }
    *ret_subtree = subtree;
    subtree = CGROUP_SUBTREE_NONE;
    return 0;
}

void cgroup_subtree_release(struct cgroup_subtree *subtree)
{
    if (subtree->fd >= 0) {
        sweep_runs(subtree->fd);
        fd_close(&subtree->fd);
        remove_patiently(subtree->parent_fd, subtree->name);
    }
    fd_close(&subtree->parent_fd);
    *subtree = CGROUP_SUBTREE_NONE;
}
