/*
 * A session, for the engine that owns it; sandbox/session.h is the public interface.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_STATE_H
#define SANDBOX_SESSION_STATE_H

#include "sandbox/cell.h"
#include "sandbox/command_set.h"
#include "sandbox/run_files.h"
#include "sandbox/run_state.h"
#include "sandbox/session_link.h"
#include "sandbox/session_spec.h"

enum session_stage {
    SESSION_NEW,         /* its run has not started */
    SESSION_STARTING,    /* the program is not ready for a cell */
    SESSION_RESTING,     /* the last command has ended; what it left is being stopped */
    SESSION_IDLE,        /* without a cell; commands may run */
    SESSION_JOINING,     /* the program of a further lane starts, for the first cell of that */
    SESSION_FEEDING,     /* init writes files of a cell */
    SESSION_RUNNING,     /* a cell */
    SESSION_INTERRUPTED, /* the same, after it was told to stop */
    SESSION_PAUSING,     /* a cell has ended; its processes are being stopped */
    SESSION_ENDED,       /* waiting only for the end of its processes */
};

/* What the present cell has come to. */
struct cell_progress {
    uint32_t number;        /* from 1 upwards */
    int64_t started_at;     /* clock_now(); 0: it did not */
    int64_t duration_ns;    /* 0: it has not ended */
    struct timespec since;  /* run_files_source.since */
    struct run_usage before; /* what the session had used before it */
    struct child_report paused_before; /* the last report before it */
    enum run_outcome stop;  /* why it was interrupted */
    bool is_interrupted;
    bool has_gone_back; /* cell.back_to: it was asked for */
    bool is_ended; /* its program was to be killed, for `stop` */
    bool
        is_lost; /* its program has ended, with `status` as wait4(2) gives it, and a checkpoint goes on */
    uint64_t kills_before; /* of memory, by the kernel, in the cgroup */
    unsigned insistences; /* how often it was told again */
    uint32_t status, detail; /* of its frame DONE; or status as wait4(2) gives it */
};

/* sandbox/session_lane.h */
struct session_lane {
    unsigned number;
    struct session *session; /* borrowed */
    enum session_kind kind;
    bool interrupted_by_frame;
    bool is_ready; /* it takes cells */
    unsigned checkpoints; /* session_spec.checkpoints */
    uint32_t revived; /* how often a checkpoint has taken its program's place */
    bool is_reviving; /* one does, and is not ready yet */
    uint32_t reviving_to; /* the cell after which that was made */
    uint32_t restored_to; /* and no result has told it: the cell after which it was made; 0: none */
    struct frame copy; /* the last FRAME_CHECKPOINT; kind 0: none, or it was handed over */
    struct run_checkpoint checkpoint; /* what became of the last */
    uint32_t numbers
        [SESSION_CHECKPOINTS_MAX]; /* of the cells after which there are copies, the newest last */
    size_t number_count;
    struct loop_watch channel;
    /* Of the further ones: */
    struct plan *plan; /* owned */
    struct relocation
        *relocation; /* owned; of a jail without a root of its own, once it has started */
    struct parcel start; /* owned: its files, until then */
    int text_fd; /* owned, from then on; else -1 */
    struct session_channels channels; /* owned, likewise; SESSION_LIVE */
};

struct session {
    struct session *previous, *next; /* of the engine's */
    struct sandbox_host *host;
    struct run *run; /* owned until it has started, then by the engine */
    struct session_lane lanes[SESSION_LANES_MAX];
    size_t lane_count;
    bool keeps_running;
    struct session_observer observer;
    enum session_stage stage;
    struct cell *cells; /* owned; the first is the present one */
    struct command_set commands;
    struct session_calls *calls; /* owned; NULL: its cells call nothing */
    int64_t time_ends_at; /* of all that runs, clock_now(); 0: nothing does */
    struct cell_progress progress;
    struct capture out, err; /* of the present cell; between cells, of the next */
    uint64_t output_kept, output_total;
    struct run_directories directories;
    struct run_files_seen seen;
    struct timespec folders_since; /* run_folder.since: before anything ran */
    struct child_report paused; /* the last REPORT_PAUSED */
    struct run_usage used; /* when it last rested */
    struct network_record *network; /* owned: for the present cell, or the next; or NULL */
    struct loop_timer timer; /* of the stage */
    int64_t wanted_at; /* a cell or command waits for a place since then; 0: none does */
    bool has_place;
    bool
        is_stopped; /* all its processes are, but those of requests on files that have begun since */
    bool has_stopped_one; /* a command or a request on files is among them */
    bool is_read; /* copies of folders: SESSION_IDLE until session_folders_read() */
    void (*wants_place)(struct session *session); /* calls session_go() when there is one */
    void (*leaves_place)(struct session *session);
    int (*start)(struct session *session, struct fault *fault); /* its run */
    void (*forget)(struct session *session); /* frees both: the run has not started */
};

/* Takes ownership of the run. NULL: no memory. */
struct session *session_new(struct sandbox_host *host, struct run *run,
                            const struct session_spec *spec,
                            const struct session_observer *observer);

/* The session has a place. */
void session_go(struct session *session);

/* There may be more to do, or less in its way. */
void session_stir(struct session *session);

/* After a command or a request on files was added to its set. */
void session_begin_added(struct session *session);

/* The run must be gone, or not started. */
void session_free(struct session *session);

#endif
