/*
 * The commands of one session, for the session that owns them; sandbox/session_command.h is the public interface.
 *
 * Side: parent.
 */
#ifndef SANDBOX_COMMAND_SET_H
#define SANDBOX_COMMAND_SET_H

#include "sandbox/base/loop.h"
#include "sandbox/jail/id_map.h"
#include "sandbox/jail/sandbox.h"
#include "sandbox/session_spec.h"

struct command_set {
    struct loop *loop;             /* borrowed, as all of these */
    const struct sandbox *sandbox;
    const struct id_map *map;      /* of the owner of pipes */
    struct folder_guard *guard;
    struct session_command *first;         /* all that have not ended */
    size_t count, file_count, stream_count; /* of commands, requests on files, connections */
    int32_t last_id;
    uint64_t output_kept, output_total;
    /* Counts what has become of the network; whether there is one. */
    bool (*note_network)(struct command_set *set);
    /* The session is of no more use. */
    void (*broken)(struct command_set *set, const char *what, int error);
    /* A command has ended, and is not in the set any more, before its done(); or a connection has begun. */
    void (*ended)(struct command_set *set);
};

/* Adds a command, which waits. 0; -EINVAL; -EAGAIN: there are COMMANDS_MAX, or STREAMS_MAX; -E2BIG; another negative errno. */
int command_set_add(struct command_set *set, const struct command_spec *spec,
                    const struct command_observer *observer, struct session_command **ret_command,
                    struct fault *fault);

/*
 * The same of a request on files, with its text, which is taken, and its stdin and wall_ms; argv[0] is for messages. The
 * observer's data is a struct session_file, which done() frees, or else the set. -EAGAIN: FILES_WAITING_MAX wait.
 */
int command_set_add_file(struct command_set *set, const struct command_spec *spec, int *text_fd,
                         const struct command_observer *observer,
                         struct session_command **ret_command, struct fault *fault);

/* Whether it has one that has begun, or one that waits. */
bool command_set_has(const struct command_set *set, bool begun);

/* Starts those that wait, of requests on files FILES_AT_ONCE. Processes of the session may run. */
void command_set_begin(struct command_set *set);

/* Whether it has one for which others have to wait: all but connections that have begun, which may last for hours. */
bool command_set_needs_place(const struct command_set *set);

/* The longest time that one of them may still take: milliseconds. */
int64_t command_set_time_left(const struct command_set *set);

/* REPORT_COMMAND_STARTED or REPORT_COMMAND_ENDED. */
void command_set_take_report(struct command_set *set, const struct child_report *report);

/* Counts it for each command that has begun; false: there is none. */
bool command_set_add_network(struct command_set *set, const struct network_record *record);

/* The session has ended, with a status or else an outcome of its run: tells the observers of all that are left. */
void command_set_lose(struct command_set *set, int status, enum run_outcome outcome,
                      const struct fault *fault);

/* No observer is called any more. */
void command_set_mute(struct command_set *set);

void command_set_release(struct command_set *set);

#endif
