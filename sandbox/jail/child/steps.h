/*
 * The steps of the jail. steps.def has their order; each file has the steps of one kind.
 *
 * A step returns 0 or a negative errno. Before each of its parts, or each of several objects, it
 * sets jail->step and jail->index, so that the report names them. No step warns and continues.
 *
 * Side: child.
 */
#ifndef SANDBOX_JAIL_CHILD_STEPS_H
#define SANDBOX_JAIL_CHILD_STEPS_H

#include "sandbox/jail/child/jail_plan.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>

#define JAIL_SCRATCH_MAX 8

/*
 * For a prewarmed program: how far its code has come. Other programs start only after they have
 * their code.
 */
enum code_state {
    CODE_HANDED_OVER,
    CODE_AWAITED, /* the parent has not announced it yet */
    CODE_WANTED, /* it is here; the program may not have opened the FIFO yet */
    CODE_BEING_WRITTEN, /* into the FIFO */
};

/*
 * What a template keeps for the jails of its forks: a directory with the image, a proc, and each folder by its place in the
 * plan, one digit.
 */
#define STORE_ROOT "root"
#define STORE_PROC "proc"

/* checkpoints.h */
struct jail_checkpoint {
    uint32_t number; /* the cell after which it was made, from 1 upwards */
    pid_t pid;
};

/* A program of a session, and its process group. */
struct jail_lane {
    pid_t program; /* 0: it does not run */
    bool is_live;  /* it gets cells, as in SESSION_LIVE; else it is started for each */
    struct jail_checkpoint checkpoints[JAIL_CHECKPOINTS_MAX]; /* pid 0: a free place */
    uint32_t revived; /* how often one of them has taken its place */
    uint32_t state;   /* the cell after which the last was made */
    uint32_t kept;    /* how many are, when nothing is waited for */
};

struct jail_command {
    int32_t id;
    pid_t pid; /* 0: there is none */
    bool has_to_end; /* its group with it */
};

struct jail {
    const struct jail_plan *plan;
    enum jail_step step;
    int index; /* the step's current object, or -1 */
    int root_fd; /* detached mounts, until they are attached */
    int proc_fd;
    int settings_fd; /* a proc with self/ and sys/: the same, or with a written one the host's */
    int scratch_fd;
    int dev_fd;
    int scratch_fds[JAIL_SCRATCH_MAX];
    int folder_fds[JAIL_FOLDERS_MAX]; /* the host's; from step_make_folders() on, detached mounts */
    int store_fd; /* of a template: what the jails of its forks are made of */
    int last_pid_fd; /* of a fork: ns_last_pid of its /proc; -1: none */
    int joined_fd; /* of a fork: join_request.control, between step_join() and the program's begin */
    int cover_fd; /* an empty file of the scratch tmpfs */
    int upper_fds[JAIL_FOLDERS_MAX]; /* roots of upper layers, for the parent */
    size_t upper_count;
    int uppers_fd; /* the directory of the host for them; -1: they are in the scratch tmpfs */
    int paths_fd; /* of the Landlock ruleset; -1: none */
    struct jail_lane lanes[JAIL_LANES_MAX]; /* the first is the program of the plan */
    pid_t
        newest; /* in a session: the newest process at the end of the last cell; 0: there was none */
    bool is_interrupted; /* the present cell of a session */
    bool is_paused; /* all processes of a session have been stopped, and not continued */
    struct jail_command commands[JAIL_COMMANDS_MAX]; /* and requests on files */
    int children_fd; /* readable when a child of init has died */
    bool has_more_dead; /* children that init has not reaped may have died */
    enum code_state code;
    int code_fifo; /* write end of the FIFO; -1: not open */
    off_t code_offset; /* of the next byte to write */
    off_t code_length; /* of the parcel (parcel.h), once it has arrived */
    uint32_t file_count; /* of the same */
};

#define STEP(id, name, jails, bases, text) int step_##name(struct jail *jail);
#define PART(id, name, text)
#include "sandbox/jail/child/steps.def"
#undef STEP
#undef PART

/* Records the current part of a step, or its current object, for the report. */
static inline void jail_note(struct jail *jail, enum jail_step step, int index)
{
    jail->step = step;
    jail->index = index;
}

/* mounts.c: what the process sees of files. */
/*
 * Opens a path in the new root before pivot_root: links of the image are resolved as if it were the
 * root already. O_PATH and flags of open(2). A descriptor, or a negative errno.
 */
int jail_open_inside(const struct jail *jail, const char *path, uint64_t flags);

/* chroot.c: becomes the user of the guard, of init or of the program, for good. 0 or a negative errno. */
int jail_take_guard_ids(const struct jail_plan *plan);
int jail_take_init_ids(const struct jail_plan *plan);
int jail_take_program_ids(const struct jail_plan *plan);

/* privileges.c: the plan's filters, for good. 0 or a negative errno. */
int jail_install_filters(const struct jail_plan *plan);

/* landlock.c: restricts this process to the chosen paths. 0 or a negative errno. */
int jail_restrict_paths(const struct jail *jail);
/* Restricts it to nothing less, but so that it can look into no process that came before it: ptrace(2). Likewise. */
int jail_restrict_ptrace(struct jail *jail);

/* Creates the parent directories of `path` below the current directory. 0 or a negative errno. */
int jail_make_parents(const char *path);

/* Reaps until the program ends or the parent asks to stop; kills the rest, reports, and exits. */
void init_main(struct jail *jail) __attribute__((noreturn));

/* Starts the program, whose code is in its file. 0 or a negative errno. */
int init_start_program(struct jail *jail);

/* In the program's process: the parts of FORK, up to execve(2) or what takes its place. */
void init_become_program(struct jail *jail) __attribute__((noreturn));

/*
 * One room for whoever needs it in init or in a process that shares or has copied its memory: static memory counts for the
 * server, whose RLIMIT_DATA may be low.
 */
#define JAIL_SCRATCH_SIZE (2 * 65536)
extern char jail_scratch[JAIL_SCRATCH_SIZE];

/* How init_clone() shares its memory: until execve(2) or the end, while init waits; or each has its own. */
#define CLONE_FOR_EXECVE (CLONE_VM | CLONE_VFORK)
#define CLONE_OF_MEMORY 0

/* Starts a process: its pid, or a negative errno. */
int init_clone(int (*main)(void *data), void *data, int sharing);

/*
 * In such a process, all that precedes execve(2): a session of its own, the directory (NULL: init's), the walls that
 * are the program's alone, its descriptors from 0 on (-1: /dev/null), ascending. 0 or a negative errno.
 */
int init_prepare_program(struct jail *jail, const char *directory, const int *fds, size_t count);

/* Kills and reaps all processes but init. */
void init_end_rest(struct jail *jail);

/* Sends a signal to all processes but init. */
void init_signal_rest(const struct jail *jail, int signal);

/*
 * Reports that nothing runs any more, with what the ended processes have used; `lane`: whose program has ended with that
 * status, or -1.
 */
void init_report(const struct jail *jail, enum report_kind kind, int lane, int status);

#endif
