/*
 * The plan of a jail: everything the child needs, prepared by the parent, so that the child only
 * makes system calls.
 *
 * Side: both. The parent builds and owns it (sandbox/jail/plan.c); clone3 gives the child a copy,
 * and the child changes only argv[0] in it. Who makes a fork maps a copy, and completes it
 * (fork_server.h). Paths are NUL-terminated.
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
    JAIL_JOINED = 8,  /* made already: what a program that joins it does to itself. join.h */
    JAIL_PROGRAM = JAIL_RUN | JAIL_INSTALL,
    JAIL_SNIPPET = JAIL_RUN | JAIL_JOINED,
    JAIL_ANY = JAIL_PROGRAM | JAIL_UNPACK,
    JAIL_EACH = JAIL_ANY | JAIL_JOINED,
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
#define SESSION_ANSWERS_FD 5
/* The same of one that calls functions of the server's client: sandbox/call_frame.h. */
#define SESSION_RESULTS_FD 6
#define SESSION_CALLS_FD 7
/* The same of a program anew for each cell. */
#define FRESH_RESULTS_FD 3
#define FRESH_CALLS_FD 4
#define FILTER_ADDITIONS_MAX 4
#define JAIL_COMMANDS_MAX 36 /* of a session, at once, with requests on files and connections */
#define JAIL_LANES_MAX 8 /* of a session: jail_session.h */
#define JAIL_CHECKPOINTS_MAX 32 /* of a lane: checkpoints.h */
#define JAIL_FOLDERS_MAX 8 /* each is named by one digit: STORE_ROOT in steps.h */

/* Descriptors of the server that a child inherits are above these. */
#define PROGRAM_FD_MAX SESSION_CALLS_FD

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
    WORD_HOLD, /* stops all processes, until WORD_RESUME; nothing is reported */
    /* commands.h */
    WORD_COMMAND,
    WORD_FILE,
    WORD_STREAM,
    WORD_COMMAND_SIGNAL,
    WORD_COMMAND_END,
    /* checkpoints.h */
    WORD_CHECKPOINT,
    WORD_GO_BACK,
    WORD_END_PROGRAM, /* SIGKILL to the process group of a live interpreter */
};

struct parent_message {
    uint32_t word;
    int32_t command; /* WORD_COMMAND...: its id, above 0; WORD_CHECKPOINT: a pid; 0: none */
    int32_t signal; /* WORD_COMMAND_SIGNAL, WORD_COMMAND_END; or the port of WORD_STREAM */
    uint32_t lane; /* WORD_CODE, WORD_INTERRUPT..., WORD_INSIST, WORD_PAUSE of a session */
    uint32_t fd_count; /* WORD_CODE: of the descriptors that come with it */
    uint32_t file_count; /* WORD_CODE: of the parcel; WORD_CHECKPOINT: how many are kept */
    uint32_t number; /* WORD_CHECKPOINT, WORD_GO_BACK: of the cell after which it was made */
    uint32_t
        revived; /* WORD_CHECKPOINT, WORD_END_PROGRAM, WORD_GO_BACK: how often the lane had been then */
    uint64_t code_length;
};

/* One record of the control socket, child to parent. */
enum report_kind {
    REPORT_FAILED = 1, /* step, error, index; nothing of the snippet has run or will run */
    REPORT_READY, /* execve is next, or the code is about to go to the prewarmed program */
    REPORT_ENDED, /* status; every process of the sandbox but init is dead. index: the lane that ended, or -1 */
    REPORT_TOLD, /* a message of a body: image_plan.h */
    REPORT_BORN, /* of a fork of a template: the sender's credentials are those of init */
    /* In a session: */
    REPORT_WRITTEN, /* the parcel of a cell; or error, step and index: it could not be */
    REPORT_PAUSED, /* no process runs; or the program of a cell has ended, then with status: jail_session.h */
    REPORT_COMMAND_STARTED, /* index: its id; error and step: it could not be */
    REPORT_COMMAND_ENDED, /* index: its id; status and usage, of its process alone */
    REPORT_REVIVED, /* index: the lane whose interpreter has ended with `status`; number: the cell after which its copy goes on */
};

struct child_report {
    uint32_t kind;
    uint32_t step; /* enum jail_step */
    int32_t error; /* positive errno */
    int32_t index; /* which object of the step, or -1; or the id of a command */
    int32_t status; /* as wait4(2) gives it */
    uint32_t number; /* REPORT_REVIVED */
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
    size_t is_executable; /* 0 or 1 */
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

struct plan_additions {
    struct sock_fprog list[FILTER_ADDITIONS_MAX];
    size_t count;
};

typedef void
go_on_function(void); /* called in the program's process instead of execve(2); does not return */
typedef int body_function(void *data); /* returns the exit status; may use all of libc */

struct jail_plan {
#define DESCRIPTOR(name) int name;
#define OWN(type, name) type name;
#define VALUE(type, name) type name;
#define TEXT(name) const char *name;
#define LIST(type, name) type name;
#define ARRAY(tag, name, count)                                                                    \
    const struct tag *name;                                                                        \
    size_t count;
#include "sandbox/jail/child/jail_plan.def"
};

#endif
