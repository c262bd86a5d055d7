/*
 * The plan of a jail: everything the child needs, prepared by the parent, so that the child only
 * makes system calls.
 *
 * Side: both. The parent builds and owns it (sandbox/jail/plan.c); clone3 gives the child a copy,
 * and the child changes only argv[0] in it. Paths are NUL-terminated.
 */
#ifndef SANDBOX_JAIL_CHILD_JAIL_PLAN_H
#define SANDBOX_JAIL_CHILD_JAIL_PLAN_H

#include "sandbox/jail/child/folder_mode.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The steps, in the order in which they begin. A report of a failure names one. */
enum jail_step {
#define STEP(id, name, jails, bases, text) STEP_##id,
#define PART(id, name, text) STEP_##id,
#include "sandbox/jail/child/steps.def"
#undef STEP
#undef PART
    STEP_COUNT
};

/* The purpose of a jail, which selects the steps that make it. */
enum jail_kind {
    JAIL_NONE = 0,
    JAIL_RUN = 1,     /* a snippet: everything is read-only but a tmpfs */
    JAIL_INSTALL = 2, /* an installer, run while its image is being made */
    JAIL_UNPACK = 4,  /* our own function that reads archives or arranges files; no program */
    JAIL_PROGRAM = JAIL_RUN | JAIL_INSTALL,
    JAIL_ANY = JAIL_PROGRAM | JAIL_UNPACK,
};

/*
 * What keeps a jail apart from the host, which selects the steps, too. Only the first is a whole wall; the
 * others are for hosts that refuse namespaces, by the operator's leave: sandbox/base/tier.h.
 */
enum jail_base {
    BASE_NONE = 0,
    BASE_NAMESPACES = 1,
    BASE_CHROOT =
        2, /* a directory of its own as the root, and ids that nobody else has; needs root */
    BASE_HOST = 4,   /* nothing of its own: Landlock and the filter alone */
    BASE_CAPABLE = BASE_NAMESPACES | BASE_CHROOT,
    BASE_SHARED = BASE_CHROOT | BASE_HOST, /* pids, network and mounts are the host's */
    BASE_EVERY = BASE_CAPABLE | BASE_HOST,
};

/* What a session keeps between its cells, the pieces of code that it runs one after another. */
enum session_kind {
    SESSION_NONE,  /* a run of one program */
    SESSION_LIVE, /* the program: it gets its cells through descriptors of its own, and never ends */
    SESSION_FRESH, /* the files: init starts the program anew for each cell */
};

/* In a session of one program: its further descriptors. */
#define SESSION_CHANNEL_FD 3
#define SESSION_CELLS_FD 4
#define FILTER_ADDITIONS_MAX 3

/* Descriptors of the server that a child inherits are above these. */
#define PROGRAM_FD_MAX SESSION_CELLS_FD

/* One record of the control socket (SOCK_SEQPACKET), parent to child. */
enum parent_word {
    WORD_IDS_MAPPED = 1, /* the set-up may continue */
    WORD_CODE, /* the parcel in code_fd is complete: parcel.h */
    WORD_STOP, /* kill all processes and report the end */
    WORD_INTERRUPT, /* SIGINT to the process group of the program, as from a terminal */
    WORD_TERMINATE, /* SIGTERM to it; not in a session */
    /* In a session: session.h. There, WORD_CODE may come again. */
    WORD_INTERRUPT_CHILDREN,
    WORD_INSIST,
    WORD_PAUSE,
    WORD_RESUME,
};

struct parent_message {
    uint32_t word;
    uint32_t file_count; /* WORD_CODE: of the parcel */
    uint64_t code_length;
};

/* One record of the control socket, child to parent. */
enum report_kind {
    REPORT_FAILED = 1, /* step, error, index; nothing of the snippet has run or will run */
    REPORT_READY, /* execve is next, or the code is about to go to the prewarmed program */
    REPORT_ENDED, /* status; every process of the sandbox but init is dead */
    REPORT_TOLD, /* a message of a body: image_plan.h */
    REPORT_BORN, /* of a fork of a template: the sender's credentials are those of init */
    /* In a session: */
    REPORT_WRITTEN, /* the parcel of a cell; or error, step and index: it could not be */
    REPORT_PAUSED, /* no process runs: stopped or, with their programs anew, dead; then with status */
};

struct child_report {
    uint32_t kind;
    uint32_t step; /* enum jail_step */
    int32_t error; /* positive errno */
    int32_t index; /* which object of the step, or -1 */
    int32_t status; /* as wait4(2) gives it */
    uint32_t disk_full; /* REPORT_ENDED, REPORT_PAUSED: no space or no inode was left */
    struct rusage usage; /* the same: of all processes that have ended */
};

struct plan_device {
    const char *source; /* on the host: "/dev/null" */
    const char *name; /* below the jail's /dev: "null" */
};

struct plan_link {
    const char *path; /* of the symbolic link, relative to its directory; no ".." */
    const char *target; /* the text of the link */
};

struct plan_file {
    const char *path; /* relative to its directory; no ".." */
    const char *bytes;
    size_t length;
};

struct plan_scratch {
    const char *name; /* of its directory in the scratch tmpfs */
    const char *target; /* where it appears: "/work" */
    mode_t mode;
    bool executable; /* false: mounted noexec */
};

/* The access that Landlock allows below a path, a second wall besides the mounts: landlock(7). */
enum path_rights {
    RIGHTS_READ, /* a directory: read and execute */
    RIGHTS_READ_FILE, /* a file that is not a directory: the same */
    RIGHTS_WRITE, /* a file that is not a directory: the same, and write */
    RIGHTS_TERMINALS, /* a directory of devices: open them and list it */
    RIGHTS_SHARE_FILES, /* a directory of the host: RIGHTS_KEEP_FILES without sockets and FIFOs */
    RIGHTS_KEEP_FILES, /* a directory: create, change, remove and execute files */
    RIGHTS_KEEP_DATA, /* a directory: the same without execute */
};

struct plan_path_rights {
    const char *path; /* in the jail */
    enum path_rights rights;
};

/*
 * A limit of the new user namespace, below the user's limits outside: namespaces(7),
 * /proc/sys/user.
 */
struct plan_user_limit {
    const char *path; /* below /proc: "sys/user/max_user_namespaces" */
    const char *value;
};

struct plan_rlimit {
    int resource;
    rlim_t limit; /* the soft one */
    rlim_t hard;
};

/* A file or directory of the host to show read-only in the image. Its mount point is created. */
struct plan_shown {
    const char *host_path;
    const char *image_path;
};

/* A folder of the host to mount in the jail. */
struct plan_folder {
    const char *path; /* on the host: absolute, without links */
    uint64_t device; /* st_dev and st_ino that it must still have */
    uint64_t inode;
    enum folder_mode mode;
    const char *place; /* in the jail: absolute, without ".."; may be missing in the image */
    bool may_cover; /* the image may have a directory there, which the folder covers */
    bool is_in_scratch; /* the place is below the target of a plan_scratch */
};

/* A part of a folder of mode FOLDER_WRITABLE. */
struct plan_folder_part {
    size_t folder; /* index in jail_plan.folders */
    const char *path; /* below the folder, without links on the way, "." or ".." */
    uint64_t device; /* as in plan_folder: a snippet beside this one may move it meanwhile */
    uint64_t inode;
    enum folder_care care;
};

struct jail_plan {
    enum jail_kind kind;
    enum jail_base base;
    const char *subject; /* for messages: "the sandbox for image python" */

    /* Descriptors that the child inherits, all above PROGRAM_FD_MAX; it closes all others first. -1: none. */
    int control_fd; /* SOCK_SEQPACKET to the parent */
    int stdin_fd; /* becomes 0 of the program; -1: /dev/null does */
    int stdout_fd, stderr_fd; /* become 1 and 2; the same, if joins_output */
    int channel_fd, cells_fd; /* SESSION_LIVE: become SESSION_CHANNEL_FD and SESSION_CELLS_FD */
    int files_fd; /* carries descriptors of directories to the parent: work_directory.c */
    int network_fd; /* the link to the broker: sandbox/network/link.h; -1: no network */
    int code_fd; /* memory for a parcel (parcel.h); the parent fills it before WORD_CODE */
    int root_tree_fd; /* detached mount of the root; -1: open root_path */
    const int *body_fds; /* for the body, under the same numbers */
    size_t body_fd_count;
    const int *keep; /* all of these, ascending, without duplicates */
    size_t keep_count;

    uid_t uid; /* inside; the parent writes the map */
    gid_t gid;
    /*
     * On BASE_CHROOT: the user of the program; another one for init, which the program cannot signal; and one for the
     * guard, which neither can. 0: a jail without a program stays root, without capabilities.
     */
    uid_t own_uid, init_uid, guard_uid;
    gid_t own_gid;
    const char *hostname;
    const char *init_name; /* at most 15 bytes: what /proc/1 shows */
    char *command_line; /* of the server, to be erased in the child's copy */
    size_t command_line_size;

    bool host_network; /* no network namespace of its own */

    /* A run whose interpreter is forked instead of ended, and its forks: fork_server.h. */
    bool is_template; /* the jails of its forks are made within its own */
    bool is_fork;
    const char *program_name; /* of a fork, as the next two: what its /proc/PID/comm shows */
    pid_t (*fork)(void); /* fork(3), with the handlers of the libraries that the program has */
    void (*go_on)(void); /* called in the program's process instead of execve(2); does not return */

    const char *root_path; /* on the host; used when root_tree_fd is -1 */
    bool root_is_writable;
    /* NULL, or the mount options of an overlayfs with layers relative to root_path. */
    const char *root_layers;
    uint64_t root_device; /* st_dev and st_ino that root_path must still have */
    uint64_t root_inode;

    const char *scratch_size; /* tmpfs options: bytes and files, decimal */
    const char *scratch_inodes;
    const struct plan_scratch *scratch;
    size_t scratch_count;

    const struct plan_device *devices;
    size_t device_count;
    const struct plan_link *dev_links;
    size_t dev_link_count;

    const struct plan_user_limit *user_limits;
    size_t user_limit_count;

    /*
     * Names below /proc, NULL-terminated, of which a written /proc has copies, as it is where the host
     * refuses a new one; or NULL. masks is then empty.
     */
    const char *const *proc_copies;
    /*
     * Below /proc, masked if they exist: files by /dev/null; directories, whose names end in "/",
     * by an empty directory.
     */
    const char *const *masks;
    size_t mask_count;

    const struct plan_shown *shown;
    size_t shown_count;

    const struct plan_folder *folders;
    size_t folder_count;
    /*
     * NULL: the scratch tmpfs holds upper layers. Else an empty directory of the host for them, owned
     * by the user of the jail; absolute, without links; st_dev and st_ino that it must still have.
     */
    const char *uppers_path;
    uint64_t uppers_device, uppers_inode;
    const struct plan_folder_part *folder_parts; /* a directory before what is in it */
    size_t folder_part_count;

    const char *home; /* absolute; one of the scratch targets */
    const char *temporary; /* the same: /tmp, as the parent named it */
    const struct plan_link *home_links;
    size_t home_link_count;
    const struct plan_file *home_files;
    size_t home_file_count;

    const struct plan_rlimit *rlimits;
    size_t rlimit_count;

    int nice; /* minimum nice value: setpriority(2) */

    int landlock_abi; /* of the kernel; 0: no Landlock, or too old */
    const struct plan_path_rights *path_rights;
    size_t path_rights_count;

    int last_capability; /* highest capability number this kernel knows */
    struct sock_fprog filter;
    /* On a base that is shared: further filters, which only forbid; installed before the other. */
    struct sock_fprog additions[FILTER_ADDITIONS_MAX];
    size_t addition_count;
    /* They answer changes of user for the kernel, so the program's process installs them, once it has its own. */
    bool filters_follow_ids;
    bool polls_memory; /* the parent does, which sees no huge pages */

    enum session_kind session;
    bool has_stdin; /* the parent makes stdin_fd; in a session it does */
    bool joins_output;
    const char *work_directory; /* absolute; one of the scratch targets */
    const char *program_directory; /* absolute: where the program starts; NULL: work_directory */
    const char *packages; /* an empty directory to make below it; NULL: none */
    const char *code_name; /* file below it that receives the code; NULL: no code */
    bool is_warm; /* the program starts before its code arrives: sandbox/jail/child/code.h */
    char **argv; /* argv[0] is for messages; the child replaces its copy by the program's path */
    char *const *programs; /* NULL-terminated absolute paths in the root; the first to exist runs */
    char *const *environment;

    /* Performed in a jail without a program; returns the exit status. May use all of libc. */
    int (*body)(void *data);
    void *body_data;
};

#endif
