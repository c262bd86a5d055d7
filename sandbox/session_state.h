/*
 * A session, for the engine that owns it; sandbox/session.h is the public interface.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_STATE_H
#define SANDBOX_SESSION_STATE_H

#include "sandbox/cell.h"
#include "sandbox/run_files.h"
#include "sandbox/run_state.h"
#include "sandbox/session_spec.h"

enum session_stage {
    SESSION_NEW,         /* its run has not started */
    SESSION_STARTING,    /* the program is not ready for a cell */
    SESSION_IDLE,
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
    unsigned insistences; /* how often it was told again */
    uint32_t status, detail; /* of its frame DONE; or status as wait4(2) gives it */
};

struct session {
    struct session *previous, *next; /* of the engine's */
    struct sandbox_host *host;
    struct run *run; /* owned until it has started, then by the engine */
    enum session_kind kind;
    bool interrupted_by_frame;
    struct session_observer observer;
    enum session_stage stage;
    struct cell *cells; /* owned; the first is the present one */
    struct cell_progress progress;
    struct capture out, err; /* of the present cell; between cells, of the next */
    uint64_t output_kept, output_total;
    struct run_directories directories;
    struct run_files_seen seen;
    struct timespec folders_since; /* run_folder.since: of the first cell */
    struct child_report paused; /* the last REPORT_PAUSED */
    struct run_usage used; /* up to the end of the last cell; nothing runs between cells */
    struct loop_watch channel;
    struct loop_timer timer; /* of the stage */
    int64_t wanted_at; /* a cell waits for a place since then; 0: none does */
    bool has_place;
    bool is_stopped; /* all its processes are */
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

/* The session has a place for its first cell. */
void session_go(struct session *session);

/* The run must be gone, or not started. */
void session_free(struct session *session);

#endif
