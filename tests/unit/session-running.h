/*
 * A session of session-program.c, with commands and cells: for tests that see what their observers are told.
 *
 * Side: parent.
 */
#ifndef TESTS_UNIT_SESSION_RUNNING_H
#define TESTS_UNIT_SESSION_RUNNING_H

#include "sandbox/engine.h"
#include "sandbox/limits/limits.h"
#include "sandbox/session.h"
#include "sandbox/session_command.h"
#include "tests/unit/session-stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_SIZE 4096
#define MANY (COMMANDS_MAX + 1)

/* A command or a cell, as its observer has seen it. */
struct seen {
    struct session_command *command; /* NULL: it is no command, or has ended */
    struct cell *cell;
    bool is_done;
    int status;
    struct command_result result; /* without captures */
    char out[TEXT_SIZE], err[TEXT_SIZE]; /* the beginning */
    uint64_t told; /* bytes of output, as they came */
    uint64_t room; /* how many it takes; 0: any number */
    const char *fault_id;
    char fault[FAULT_TEXT_MAX];
    int64_t answered_at;
};

struct world {
    struct session *session; /* NULL: it has ended */
    const struct folders *folders; /* of those opened from now on; or NULL */
    struct seen seen[MANY];
};
extern struct world world;

void open_as(enum session_kind kind, bool keeps_running);
void open_session(enum session_kind kind);
int start(struct seen *seen, const struct command_spec *spec, struct fault *fault);
struct seen *exec(size_t index, const char *one, const char *two, int64_t wall_ms);
struct seen *submit(size_t index, const char *code);
struct seen *look(size_t index);
void assert_exited(const struct seen *seen, int exit_code);
int forget(void **state);

#endif
