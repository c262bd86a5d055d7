/*
 * A session with a program of session-program.c, for tests that ask for its files.
 *
 * Side: parent.
 */
#ifndef TESTS_UNIT_SESSION_ASKING_H
#define TESTS_UNIT_SESSION_ASKING_H

#include "sandbox/engine.h"
#include "sandbox/limits/limits.h"
#include "sandbox/session.h"
#include "sandbox/session_file.h"
#include "tests/unit/session-stage.h"

#define MANY (FILES_AT_ONCE + FILES_WAITING_MAX)

/* A request, a command or a cell, as its observer has seen it. */
struct seen {
    struct session_file *file;
    bool is_done;
    bool has_told; /* a command: any output */
    int status;
    char id[32], text[FAULT_TEXT_MAX]; /* of the fault */
    struct file_entry entry; /* or the last of a list */
    char bytes[256]; /* the beginning; of a list, its names with commas */
    size_t length; /* of bytes, or entries */
    bool is_end, has_more;
    enum run_outcome outcome;
    int exit_code;
};
extern struct world {
    struct session *session; /* NULL: it has ended */
    struct run_limits limits;
    const struct folders *folders;
    struct seen seen[MANY];
} world;

/* For run_observer.done; the data is a struct seen. */
void cell_done(void *data, int status, struct run_result *result, const struct fault *fault);

void open_session(enum session_kind kind);

/* One that is not in use: without `file`. */
struct seen *free_place(void);

/* Makes a request, which is answered later. */
struct seen *begin(const struct file_spec *spec);

/* The same, and awaits it. The answer is valid until the next one. */
struct seen *ask(const struct file_spec *spec);
struct seen *ask_of(enum file_operation operation, const char *path);

/* Its fault has this id; "": it has none. */
void expect(const struct seen *seen, const char *id);

void put(const char *path, const char *text);
void expect_text(const char *path, const char *text);

/* A command with these words; run() awaits it, and expects that it exits with 0. */
struct seen *exec(const char *one, const char *two, const char *three);
void run(const char *one, const char *two, const char *three);

/* For cmocka: of the group, with close_stage(), and after each test. */
int open_world(void **state);
int forget(void **state);

#endif
