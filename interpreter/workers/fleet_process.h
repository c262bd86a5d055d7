/*
 * code-sandbox-mcp-fleet, started with a socket as its stdin and stdout: the only program that speaks to a
 * broker.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_WORKERS_FLEET_PROCESS_H
#define INTERPRETER_WORKERS_FLEET_PROCESS_H

#include "interpreter/settings/settings.h"

#include <sys/types.h>

struct fleet_process {
    pid_t pid; /* 0: none */
    int input_fd, output_fd; /* owned: our end of the socket, twice; -1: none */
};

#define FLEET_PROCESS_NONE ((struct fleet_process){.input_fd = -1, .output_fd = -1})

enum fleet_mode {
    FLEET_TAKE, /* calls for the sandboxes here */
    FLEET_SEND, /* calls to others */
    FLEET_LIST, /* these, on a line; then it ends */
};

/* `places`: of FLEET_TAKE. 0 or a negative errno with its fault. */
int fleet_process_start(struct fleet_process *process, enum fleet_mode mode,
                        const struct fleet_settings *fleet, const struct settings *settings,
                        unsigned places, struct fault *fault);

/* Ends it at once; fleet_process_end() is still to be called. */
void fleet_process_kill(const struct fleet_process *process);

/*
 * Closes the socket, waits for the end of the program, and returns its exit status; -1: it was killed, because it did
 * not end in time, or by somebody else.
 */
int fleet_process_end(struct fleet_process *process);

#endif
