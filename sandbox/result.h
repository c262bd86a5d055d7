/*
 * The outcome of a run and its output. A bad end of the program is data, never an error of ours.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RESULT_H
#define SANDBOX_RESULT_H

#include "sandbox/base/fault.h"
#include "sandbox/base/tier.h"
#include "sandbox/capture.h"
#include "sandbox/jail/folders/folder_guard.h"
#include "sandbox/limits/enforcement.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/outcome.h"
#include "sandbox/limits/run_limits.h"
#include "sandbox/network/record.h"
#include "sandbox/upper_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A file left by the run. Path and content come from the snippet: untrusted. */
struct run_file {
    char *path; /* owned; relative, under RUN_FILE_PATH_SIZE bytes; no NUL, no "." or ".." */
    int fd; /* owned: a regular file with no writer left */
    uint64_t size;
};

struct run_files {
    struct run_file
        list[RUN_FILES_LOOKED_MAX]; /* RUN_FILES_MAX, unless run_spec.files_max is more */
    size_t count;
    size_t more; /* files that are not in the list */
    bool more_at_least; /* not all names were read: there may be others */
};

/* Why something that a run left is not among its files. */
enum left_reason {
    LEFT_ELSEWHERE,  /* outside the work directory */
    LEFT_UNREADABLE, /* by its owner */
    LEFT_TOO_DEEP,   /* or its path is too long */
    LEFT_UNLISTED,   /* a directory of caches, packages or settings */
    LEFT_REASONS,
};

/* Where it is; its path is relative to that. */
enum left_place { LEFT_IN_WORK, LEFT_IN_TEMPORARY, LEFT_IN_HOME, LEFT_PLACES };

struct run_left {
    char *path; /* owned; as run_file.path, or "." for the place itself */
    enum left_place place;
    bool is_directory;
    uint64_t size; /* of a file */
};

/* The newest RUN_LEFT_MAX for each reason, untrusted; `more` are not in the list. */
struct run_left_out {
    struct run_left list[LEFT_REASONS][RUN_LEFT_MAX];
    size_t count[LEFT_REASONS], more[LEFT_REASONS];
};

/* What the run wrote to a folder of mode FOLDER_OVERLAY. Everything in it is untrusted. */
struct run_folder {
    const struct folder *folder; /* borrowed from run_spec.folders */
    int upper_fd; /* owned: the root of the upper layer, with no writer left */
    /*
     * Before the snippet could write, by the clock of file times: a file of the host whose ctime is
     * not older has changed since then.
     */
    struct timespec since;
};

struct run_folders {
    struct run_folder list[FOLDERS_MAX]; /* in the order of run_spec.folders */
    size_t count;
    size_t lost; /* folders whose upper layer did not arrive: what was written is not known */
    struct upper_directory directory; /* owned: holds the upper layers, if they are on disk */
};

/* How the sandbox of a run was made. */
enum run_start {
    START_COLD,      /* for this run */
    START_PREWARMED, /* before it, with the program waiting for its code */
    START_FORKED,    /* the same, by a fork of a template */
    START_COUNT,
};

/* "cold", "prewarmed", "forked": static. */
const char *run_start_name(enum run_start start);

/* What became of the session that the run was a cell of. */
enum session_state {
    SESSION_UNUSED, /* it was none */
    SESSION_KEPT,
    SESSION_LOST,   /* it ended with this cell */
};

/* Why a live interpreter could not be copied: images/runners/python/checkpoints.py. */
enum checkpoint_hindrance {
    HINDRANCE_NONE,
    HINDRANCE_THREADS,
    HINDRANCE_CHILDREN,
    HINDRANCE_PIPES,
    HINDRANCE_SHARED_MEMORY,
    HINDRANCE_TRACED,
    HINDRANCE_TASKS,
    HINDRANCE_NO_FORK,
    HINDRANCE_UNKNOWN,
    HINDRANCE_LOCKS,
    HINDRANCE_COUNT
};

/* What a copy has done with the work directory. */
enum file_return {
    FILES_LEFT,     /* nothing */
    FILES_BACK, /* it is as it was, but for other things than files, directories and symbolic links */
    FILES_TOO_MANY, /* nothing: it had more than it copies */
    FILES_FAILED, /* some are not as they were */
    FILES_COUNT
};

/* Continues "no checkpoint: "; static. */
const char *checkpoint_hindrance_text(enum checkpoint_hindrance hindrance);

/* Of the program of a cell, whose copies can take its place. All 0: it is not copied. */
struct run_checkpoint {
    uint32_t
        number; /* the cell after which the newest was made, in its session, from 1 upwards; 0: there is none */
    enum checkpoint_hindrance hindrance; /* there is none of this cell, because of that */
    uint32_t restored_to; /* the program was lost, and is again as after that cell; 0: it was not */
    bool was_between; /* it was lost before this cell began */
    uint32_t went_back; /* as it was told to, before this cell: as after that one; 0: it was not */
    enum file_return files; /* of the work directory, with that */
};

/* A call of a function of the client. The name comes from the snippet: untrusted. */
struct run_call {
    char name[CALL_NAME_MAX + 1];
    const char *outcome; /* "done", "error", "refused", "timed_out", "limit", "cancelled": static */
    int64_t duration_ns;
    uint64_t request_bytes, result_bytes; /* of JSON */
};

struct run_calls {
    struct run_call list[CALLS_TOLD_MAX];
    size_t count;
    uint64_t more; /* that are not in the list */
};

/* How a cell of a session took its interrupt. */
enum cell_interrupt {
    INTERRUPT_NONE, /* there was none */
    INTERRUPT_HEEDED, /* or, if the session is lost, not heeded */
    INTERRUPT_CAUGHT, /* the cell went on, and came to its end */
    INTERRUPT_FATAL, /* the program of the session ended by itself thereafter */
};

/* What a compiler did before the program of a run (interpreter/compiler.h). */
struct run_compile {
    enum run_outcome outcome;
    int exit_code, signal; /* as in struct run_result */
    int64_t duration_ns; /* of a program that was kept: when it was compiled */
    bool was_kept; /* the program of an earlier run was taken */
    /* COMPILE_TEXT_MAX bytes of what it printed; of one that failed, the streams of the result have it. */
    struct capture out, err;
};

struct run_result {
    enum run_outcome outcome;
    int exit_code; /* 0..255 when EXITED, else -1 */
    int signal; /* when SIGNALED, else 0 */
    struct capture out, err;
    bool is_joined; /* stderr is in `out`: run_spec.joins_output */
    int64_t queued_ns; /* from engine_submit() to the start of the set-up */
    int64_t duration_ns; /* from the start of the program to its end */
    int64_t cpu_ns; /* of all processes */
    int64_t peak_memory_bytes; /* of the whole run, as far as sampled; 0 unknown */
    int64_t
        value_bytes; /* of a cell's stdout, before its last newline, that show its value; 0: none */
    int64_t peak_processes; /* init not counted; 0 unknown */
    unsigned limits_reached; /* of enum limit_reached */
    struct run_limits limits; /* in force */
    struct enforcement enforced;
    const char *isolation; /* isolation_name() of sandbox/base/tier.h */
    enum tier tier;
    enum run_start start;
    enum session_state session;
    enum cell_interrupt interrupt;
    struct run_checkpoint checkpoint;
    int ended_lane; /* of a session that is lost: the lane whose program ended by itself, or -1 */
    struct run_files files; /* of the work directory, the oldest first */
    struct run_files figures; /* at most RUN_FIGURES_MAX, in order; `more` were not drawn */
    struct run_left_out left_out;
    bool files_lost; /* both could not be collected, and are empty */
    struct run_folders folders;
    struct run_compile *compile; /* owned; NULL: its language is not compiled */
    struct run_calls *calls; /* owned; NULL: it could call nothing */
    struct network_record *network; /* owned; NULL: the run had no network */
    struct buffer
        told_changes; /* owned; JSON of a worker: carried_changes.h; empty of a run here */
    struct buffer told_findings; /* owned; likewise: findings_text.h */
    struct folder_changes appeared; /* in folders of mode FOLDER_WRITABLE */
};

void run_files_release(struct run_files *files);
void run_compile_release(struct run_compile *compile);
void run_left_out_release(struct run_left_out *left_out);
/* Removes the upper layers, too: nobody may be reading them any more. */
void run_result_release(struct run_result *result);

/* Moves the result; *result is empty afterwards. */
void run_result_take(struct run_result *result, struct run_result *ret_taken);

enum output_stream { OUTPUT_STDOUT, OUTPUT_STDERR };

/* Callbacks of a run, from the loop and never from inside engine_submit(). */
struct run_observer {
    /*
     * Called once. status 0: `result` says how the program ended; negative errno: the sandbox
     * failed, nothing of the snippet ran, `fault` says why. Both pointers are borrowed for the
     * call; pointer_take() members to keep them.
     */
    void (*done)(void *data, int status, struct run_result *result, const struct fault *fault);
    /*
     * Called with each piece of output, including parts that the result drops; may be NULL. Must
     * not cancel its own run.
     */
    void (*output)(void *data, enum output_stream stream, const char *bytes, size_t length);
    void *data;
};

/* Shows an observer what was kept of a stream, and where something is missing. */
void run_observer_show(const struct run_observer *observer, enum output_stream stream,
                       const struct capture *capture);

#endif
