#include "images/unpack/confine.h"

#include "images/base/file.h"
#include "images/base/interrupt.h"
#include "images/unpack/confine_filter.h"
#include "images/unpack/confine_limits.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/core_pattern.h"
#include "sandbox/jail/filter.h"
#include "sandbox/jail/remedy.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define CONFINED_FDS_MAX 4096
#define PROGRAM_HOSTNAME "sandbox"
#define PROGRAM_KILL_SCORE "500" /* proc(5), oom_score_adj: before the programs of people */

/* What the child needs of the parent beside the spec. All descriptors are the parent's. */
struct start {
    const struct confined *confined;
    int out_fd, err_fd, report_fd, parent_fd;
    uid_t uid;
    gid_t gid;
    const struct filter *filter; /* of programs of the image */
};

static const char *const device_paths[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                           "/dev/urandom"};

/* What may fail where the capabilities that come with a user namespace are withheld. */
static int refused(int error, const char *what, const char *path, struct fault *fault)
{
    bool is_denied = error == EPERM || error == EACCES;
    return fault_set(fault, error, "%s%s%s: %s%s", what, path[0] != '\0' ? " " : "", path,
                     strerror(error), is_denied ? "; " USERNS_HELP : "");
}

static int write_file(const char *path, const char *text, struct fault *fault)
{
    OWNED_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return refused(errno, "cannot write", path, fault);
    return 0;
}

/* Our own ids become 0; no other id exists. Source: user_namespaces(7). */
static int ids_map(const struct start *start, struct fault *fault)
{
    char line[64];
    int r = write_file("/proc/self/setgroups", "deny", fault);
    if (r < 0)
        return r;
    snprintf(line, sizeof(line), "0 %u 1\n", (unsigned)start->uid);
    r = write_file("/proc/self/uid_map", line, fault);
    if (r < 0)
        return r;
    snprintf(line, sizeof(line), "0 %u 1\n", (unsigned)start->gid);
    return write_file("/proc/self/gid_map", line, fault);
}

/* A detached copy of a mount, with attributes added. The descriptor is owned by the caller. */
static int tree_copy(const char *path, unsigned flags, uint64_t attributes, struct fault *fault)
{
    OWNED_FD int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
    if (fd < 0)
        return fault_set(fault, errno, "cannot copy the mount of %s: %m", path);
    struct mount_attr attr = {.attr_set = attributes};
    if (mount_setattr(fd, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr)) < 0)
        return fault_set(fault, errno, "cannot set mount attributes of %s: %m", path);
    return fd_take(&fd);
}

static int tree_attach(int tree_fd, const char *path, struct fault *fault)
{
    if (move_mount(tree_fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return fault_set(fault, errno, "cannot mount on %s in the image: %m", path);
    return 0;
}

/*
 * Read-only: in a fetch that root started the child is uid 0 of the host, without a capability, but
 * what may write /proc/sys is decided by the uid.
 */
#define PROC_ATTRIBUTES (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* /proc of the new pid namespace; where part of the host's is masked, only a copy of that may be. */
static int proc_make(struct fault *fault)
{
    OWNED_FD int context = fsopen("proc", FSOPEN_CLOEXEC);
    if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0) {
        int fd = fsmount(context, FSMOUNT_CLOEXEC, PROC_ATTRIBUTES);
        if (fd >= 0)
            return fd;
    }
    return tree_copy("/proc", AT_RECURSIVE, PROC_ATTRIBUTES, fault);
}

static int overlay_mount(const struct confined *confined, struct fault *fault)
{
    const struct confined_overlay *overlay = confined->overlay;
    if (chdir(overlay->directory) < 0)
        return fault_set(fault, errno, "cannot enter %s: %m", overlay->directory);
    if (mount("overlay", confined->root, "overlay", MS_NOSUID | MS_NODEV, overlay->options) < 0)
        return fault_set(fault, errno,
                         "cannot mount the layers of the image: %m; overlayfs is needed in a user "
                         "namespace (Linux 5.11, `modprobe overlay`), and an image store on a file "
                         "system that it can write");
    return 0;
}

/* Makes the root of the spec the root, and lets go of everything else. Source: pivot_root(2). */
static int root_enter(const struct confined *confined, struct fault *fault)
{
    const char *root = confined->root;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return refused(errno, "cannot make the mounts private", "", fault);
    int r = confined->overlay != NULL ? overlay_mount(confined, fault) : 0;
    if (r < 0)
        return r;
    OWNED_FD int tree_fd = tree_copy(root, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, fault);
    if (tree_fd < 0)
        return tree_fd;
    r = tree_attach(tree_fd, root, fault);
    if (r < 0)
        return r;
    if (fchdir(tree_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return fault_set(fault, errno, "cannot make %s the root: %s%s", root, strerror(errno),
                         errno == EINVAL ? "; " PIVOT_HELP : "");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return fault_set(fault, errno, "cannot leave the root of the host: %m");
    return 0;
}

/* Detached mounts, made while the host's files can be seen and attached after. */
struct host_mounts {
    int proc_fd;
    int device_fds[ARRAY_LENGTH(device_paths)];
    int file_fds[CONFINED_FILES_MAX];
};

static int host_mounts_take(const struct confined *confined, struct host_mounts *mounts,
                            struct fault *fault)
{
    mounts->proc_fd = proc_make(fault);
    if (mounts->proc_fd < 0)
        return mounts->proc_fd;
    for (size_t i = 0; i < ARRAY_LENGTH(device_paths); i++) {
        mounts->device_fds[i] = tree_copy(device_paths[i], 0, MOUNT_ATTR_NOSUID, fault);
        if (mounts->device_fds[i] < 0)
            return mounts->device_fds[i];
    }
    if (confined->file_count > ARRAY_LENGTH(mounts->file_fds))
        return fault_set(fault, E2BIG, "too many files to show in an image");
    /* Whole: where more is mounted below, as in WSL, the kernel gives no copy of a part. */
    for (size_t i = 0; i < confined->file_count; i++) {
        mounts->file_fds[i] = tree_copy(confined->files[i].host_path, AT_RECURSIVE,
                                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, fault);
        if (mounts->file_fds[i] < 0)
            return mounts->file_fds[i];
    }
    return 0;
}

/* The place of a file of the host: in an image from elsewhere it may be missing. */
static int place_provide(int tree_fd, const char *path, struct fault *fault)
{
    struct stat status;
    if (fstat(tree_fd, &status) < 0)
        return fault_set(fault, errno, "cannot look at a file of the host: %m");
    if (S_ISDIR(status.st_mode))
        return file_make_directory(path, 0755, fault);
    OWNED_MEMORY char *parent = strdup(path);
    if (parent == NULL)
        return fault_set(fault, ENOMEM, "no memory for a path");
    *strrchr(parent, '/') = '\0';
    int r = parent[0] != '\0' ? file_make_directory(parent, 0755, fault) : 0;
    if (r < 0)
        return r;
    OWNED_FD int fd = open(path, O_RDONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0644);
    return fd < 0 ? fault_set(fault, errno, "cannot make %s in the image: %m", path) : 0;
}

static int host_mounts_attach(const struct confined *confined, const struct host_mounts *mounts,
                              struct fault *fault)
{
    /* Only root may write into /dev: in a sticky directory of all, nobody may create over a file. */
    static const struct {
        const char *path, *mode;
    } temporary[] = {{"/dev", "mode=0755,size=256m,nr_inodes=10000"},
                     {"/tmp", "mode=1777,size=1g,nr_inodes=100000"}};
    for (size_t i = 0; i < ARRAY_LENGTH(temporary); i++)
        if (mount("tmpfs", temporary[i].path, "tmpfs", MS_NOSUID, temporary[i].mode) < 0)
            return fault_set(fault, errno, "cannot mount a tmpfs on %s in the image: %m",
                             temporary[i].path);
    if (mkdir("/dev/shm", 01777) < 0)
        return fault_set(fault, errno, "cannot make /dev/shm: %m");
    int r = tree_attach(mounts->proc_fd, "/proc", fault);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(device_paths); i++) {
        int fd = open(device_paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        fd_close(&fd);
        r = tree_attach(mounts->device_fds[i], device_paths[i], fault);
    }
    for (size_t i = 0; r == 0 && i < confined->file_count; i++) {
        r = place_provide(mounts->file_fds[i], confined->files[i].image_path, fault);
        if (r == 0)
            r = tree_attach(mounts->file_fds[i], confined->files[i].image_path, fault);
    }
    return r;
}

static int mounts_set_up(const struct confined *confined, struct fault *fault)
{
    if (!confined->programs)
        return root_enter(confined, fault);
    struct host_mounts mounts;
    int r = host_mounts_take(confined, &mounts, fault);
    if (r == 0)
        r = root_enter(confined, fault);
    return r == 0 ? host_mounts_attach(confined, &mounts, fault) : r;
}

/* No capability is left, and with no_new_privs an execve by uid 0 gives none back. */
static int privileges_drop(struct fault *fault)
{
    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0;
         capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return fault_set(fault, errno, "cannot drop capability %lu: %m", capability);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &header, none) < 0)
        return fault_set(fault, errno, "cannot drop privileges: %m");
    return 0;
}

/* Puts stdin, stdout, stderr, the report and the given descriptors in order, and closes others. */
static int descriptors_arrange(const struct start *start, struct fault *fault)
{
    const struct confined *confined = start->confined;
    int total = CONFINED_FIRST_FD + (int)confined->fd_count;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int first[CONFINED_FIRST_FD] = {null_fd, start->out_fd, start->err_fd, start->report_fd};
    /* First all out of the way, so that none is overwritten before it has been copied. */
    int aside[CONFINED_FDS_MAX];
    for (int i = 0; i < total; i++) {
        int fd = i < CONFINED_FIRST_FD ? first[i] : confined->fds[i - CONFINED_FIRST_FD];
        aside[i] = fcntl(fd, F_DUPFD_CLOEXEC, total);
        if (aside[i] < 0)
            return fault_set(fault, errno, "cannot copy descriptor %d: %m", fd);
    }
    for (int i = 0; i < total; i++)
        if (dup3(aside[i], i, i < CONFINED_REPORT_FD ? 0 : O_CLOEXEC) < 0)
            return fault_set(fault, errno, "cannot copy descriptor %d: %m", i);
    if (close_range((unsigned)total, ~0U, 0) < 0)
        return fault_set(fault, errno, "cannot close descriptors: %m");
    return 0;
}

/* The parent is in another pid namespace, so getppid() cannot tell that it died before the prctl. */
static bool parent_is_dead(int parent_fd)
{
    struct pollfd watch = {.fd = parent_fd, .events = POLLIN};
    return poll(&watch, 1, 0) != 0;
}

/* What else of the machine a program of the image is to be kept from. */
static int program_isolate(struct fault *fault)
{
    (void)write_file("/proc/self/oom_score_adj", PROGRAM_KILL_SCORE, NULL);
    if (sethostname(PROGRAM_HOSTNAME, strlen(PROGRAM_HOSTNAME)) < 0)
        return refused(errno, "cannot set the host name", "", fault);
    /* Source: keyctl_join_session_keyring(3). A kernel without keyrings has none to leave. */
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return fault_set(fault, errno, "cannot leave the session keyring: %m");
    return 0;
}

static int child_confine(const struct start *start, struct fault *fault)
{
    int r = ids_map(start, fault);
    /* While the host's /proc is there; where that is read-only, the machine is not ours to save. */
    if (r == 0 && start->confined->programs)
        r = program_isolate(fault);
    if (r == 0)
        r = mounts_set_up(start->confined, fault);
    if (r == 0)
        r = privileges_drop(fault);
    if (r == 0)
        r = confine_limits_set(start->confined->programs, fault);
    /* Programs of the image read no archives, and need more. */
    if (r == 0 && !start->confined->programs)
        r = confine_filter_install(fault);
    const struct sock_fprog filter = {start->filter->length, start->filter->code};
    if (r == 0 && start->confined->programs &&
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) < 0)
        r = fault_set(fault, errno, "cannot install the system call filter: %m");
    return r;
}

static void child_main(const struct start *start)
{
    interrupt_reset();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent_is_dead(start->parent_fd))
        _exit(1);
    struct fault fault = {0};
    int report_fd = start->report_fd;
    /* The descriptors come first of all: /dev/null is still that of the host. */
    int r = descriptors_arrange(start, &fault);
    if (r == 0)
        report_fd = CONFINED_REPORT_FD;
    if (r == 0)
        r = child_confine(start, &fault);
    if (r == 0)
        r = start->confined->body(start->confined->data, &fault);
    if (r < 0)
        subprocess_report(report_fd, REPORT_FAULT, -r, fault.text);
    _exit(r < 0 ? 1 : 0);
}

static int namespaces_fault(int error, struct fault *fault)
{
    const char *remedy = remedy_for_clone(error);
    return fault_set(fault, error,
                     "cannot make the namespaces in which an image is unpacked: %s%s%s",
                     strerror(error), remedy != NULL ? "; " : "", remedy != NULL ? remedy : "");
}

int confined_start(const struct confined *confined, struct subprocess *child, struct fault *fault)
{
    OWNED_FD int out_fd = -1;
    OWNED_FD int err_fd = -1;
    int reports[2];
    if (confined->fd_count > CONFINED_FDS_MAX - CONFINED_FIRST_FD)
        return fault_set(fault, E2BIG, "too many files for one confined child");
    OWNED(filter_release) struct filter filter = {0};
    int r = core_pattern_check(fault);
    if (r == 0 && confined->programs)
        r = filter_compile_build(&filter, fault);
    if (r == 0)
        r = subprocess_pipes(child, &out_fd, &err_fd, fault);
    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports) < 0)
        return fault_set(fault, errno, "cannot make a socket pair: %m");
    child->report_fd = reports[0];
    OWNED_FD int report_fd = reports[1];
    OWNED_FD int parent_fd = pidfd_open(getpid(), 0);
    const struct start start = {confined,  out_fd,    err_fd,    report_fd,
                                parent_fd, geteuid(), getegid(), &filter};
    struct clone_args arguments = {
        .flags = CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                 CLONE_NEWUTS | (confined->network ? 0 : CLONE_NEWNET),
        .pidfd = (uint64_t)(uintptr_t)&child->pidfd,
        .exit_signal = SIGCHLD,
    };
    /* Like fork: no thread of ours exists, so the child may use all of libc. */
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (pid < 0)
        return namespaces_fault(errno, fault);
    if (pid == 0)
        child_main(&start);
    child->pid = pid;
    child->ended = false;
    return 0;
}

int confined_check(const struct subprocess *child, struct fault *fault)
{
    if (child->error != 0)
        return fault_set(fault, child->error, "%s", child->fault.text);
    return child->status == 0 ? 0
                              : subprocess_fault(child, "a confined process of the fetch", fault);
}

int confined_run(const struct confined *confined, const struct subprocess_observer *observer,
                 struct fault *fault)
{
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    int r = confined_start(confined, &child, fault);
    if (r == 0)
        r = subprocess_wait_all(&child, 1, observer, fault);
    return r == 0 ? confined_check(&child, fault) : r;
}

static int nothing_body(void *data, struct fault *fault)
{
    (void)data;
    (void)fault;
    return 0;
}

int confined_probe(const char *root, struct fault *fault)
{
    const struct confined confined = {.root = root, .body = nothing_body};
    return confined_run(&confined, NULL, fault);
}

static int program_body(void *data, struct fault *fault)
{
    const struct image_program *program = data;
    environ = (char **)program->environment; /* where execvp(3) finds PATH, too */
    execvp(program->argv[0], (char *const *)program->argv);
    if (errno == ENOENT)
        _exit(127);
    return fault_set(fault, errno, "cannot execute %s in the image: %m", program->argv[0]);
}

int confined_program(const struct confined *confined, const struct image_program *program,
                     const struct subprocess_observer *observer, struct fault *fault)
{
    struct confined spec = *confined;
    spec.programs = true;
    spec.body = program_body;
    spec.data = (void *)program;
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    int r = confined_start(&spec, &child, fault);
    if (r == 0)
        r = subprocess_wait_all(&child, 1, observer, fault);
    if (r < 0)
        return r;
    if (child.status == 127)
        return 1;
    if (confined->output != NULL &&
        buffer_append(confined->output, child.out.data, child.out.length) < 0)
        return fault_set(fault, ENOMEM, "no memory for what %s printed", program->argv[0]);
    return child.error == 0 && child.status == 0
               ? 0
               : subprocess_fault(&child, program->argv[0], fault);
}
