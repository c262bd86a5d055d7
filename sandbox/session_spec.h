/*
 * What sessions, their cells and their commands are made of, and told to: sandbox/session.h.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_SPEC_H
#define SANDBOX_SESSION_SPEC_H

#include "sandbox/calls_spec.h"
#include "sandbox/jail/run_spec.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;
struct cell;
struct session_command;

struct session_spec {
    struct run_spec run; /* with its member `session` */
    /* SESSION_LIVE: the program is interrupted by a frame on its channel, not by SIGINT. */
    bool interrupted_by_frame;
    /* SESSION_LIVE: how many copies of the program are kept, each made after a cell; 0..SESSION_CHECKPOINTS_MAX. */
    unsigned checkpoints;
    const struct calls_spec *calls; /* of run.has_calls, else NULL; not of a further lane */
    /* Of run.has_calls: what the interpreter needs for calls, in its language. Outlives the session. */
    const char *calls_program;
    size_t calls_program_length;
};

struct session_observer {
    /*
     * The session has ended by itself: called once, before done() of the cells and commands that it had; the handle is
     * invalid from here on. As done() of struct run_observer: how its processes ended, or the failure.
     */
    void (*ended)(void *data, int status, const struct run_result *result,
                  const struct fault *fault);
    void *data;
};

/* Everything is borrowed for the call of session_submit(). */
struct cell_spec {
    unsigned lane; /* 0: that of the session's own spec; or of engine_add_lane() */
    uint32_t
        back_to; /* the cell after which its lane has to be again before it begins; 0: as it is */
    const char *code;
    size_t code_length; /* <= CODE_MAX */
    const struct run_input *inputs;
    size_t input_count;
    struct run_stdin stdin_source; /* STDIN_EMPTY or STDIN_BYTES */
    const struct call_functions
        *functions; /* in place of those of its session, which has some; or NULL */
    int64_t wall_ms;
};

/* Everything is borrowed for the call of session_exec(). */
struct command_spec {
    /* NULL-terminated, not empty; argv[0] without a slash is searched for in PATH. */
    const char *const *argv;
    uint16_t port; /* in the place of argv: a connection to it, session_command.h; 0: none */
    /* In the jail; a relative one begins at the work directory, as NULL does. */
    const char *directory;
    /* NULL-terminated NAME=VALUE added to the session's own, or NULL; the last of a name counts. NAME alone
     * leaves out the session's. */
    const char *const *environment;
    const char *stdin_bytes;
    size_t stdin_length; /* <= COMMAND_STDIN_MAX */
    bool keeps_stdin_open; /* for command_write_stdin() */
    int64_t wall_ms;
};

struct command_result {
    /* OUTCOME_EXITED, _SIGNALED, _TIMED_OUT, _OUTPUT_LIMIT, _CANCELLED; or what ended the session. */
    enum run_outcome outcome;
    int exit_code; /* 0..255 when EXITED, else -1 */
    int signal; /* when SIGNALED, else 0 */
    bool is_session_lost;
    struct capture out, err;
    int64_t queued_ns, duration_ns;
    int64_t
        cpu_ns; /* of its process and those that this has waited for; 0 if the session is lost */
    int64_t peak_memory_bytes; /* of the largest of these; 0 likewise */
    struct folder_changes appeared; /* in folders of mode FOLDER_WRITABLE, and not told before */
    struct network_record
        *network; /* of all that ran meanwhile; NULL: the session has no network */
};

/* Callbacks from the loop, never from inside session_exec(). */
struct command_observer {
    /*
     * Called once; the handle is invalid from here on. status 0: `result` says how it ended; else it did not begin:
     * -ENOENT with the fault id "no_such_file", -ESRCH if the session ended before, another negative errno. Both
     * pointers are borrowed for the call; to keep a capture, copy it and empty the original.
     */
    void (*done)(void *data, int status, struct command_result *result, const struct fault *fault);
    /*
     * Each piece of output; may be NULL. False: the reader takes no more for now. The pipes are not read then until
     * command_go_on(), or the end of the command, when what they still hold comes at once.
     */
    bool (*output)(void *data, enum output_stream stream, const char *bytes, size_t length);
    /*
     * All that was written to its stdin is in its pipe, or nobody will read it; whether it takes more. May be NULL; may be
     * called from inside command_write_stdin().
     */
    void (*stdin_taken)(void *data, bool is_open);
    void *data;
};

#endif
