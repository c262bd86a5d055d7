/*
 * A session for a person at a terminal, or for lines from a pipe: runs cells one after another, streams their output, and
 * says what became of them. A session that is lost is followed by another with the next cell.
 *
 * Side: parent.
 */
#ifndef CLI_SHELL_H
#define CLI_SHELL_H

#include "cli/given_files.h"
#include "cli/program_check.h"
#include "interpreter/base/end_signals.h"
#include "interpreter/folders/patch_queue.h"
#include "interpreter/launcher.h"

#include <stdbool.h>
#include <stdint.h>

struct shell {
    const struct settings *settings;   /* borrowed */
    const struct given_files *inputs; /* borrowed: of the first cell of each session */
    const struct language *language;   /* of the next cell */
    struct loop loop;
    struct launcher launcher;
    struct end_signals end_signals;
    void (*interrupted)(void *data); /* Ctrl-C while no cell runs */
    void *data;
    struct live_session live;
    struct cell *cell; /* that runs, or a look at folders; NULL: none */
    uint64_t cells;    /* that this session has begun */
    uint64_t calls;    /* that have been told of, in all sessions: they number directories */
    struct buffer end; /* owned: why the session ended while no cell ran; empty: it did not */
    /* Of the last cell: */
    int status;
    struct fault fault;
    struct run_result result;
    struct patch_queue queue;
    struct patch_job patches;
    struct program_check program; /* of --policy, if it is open */
    bool has_check;
    char *figures; /* owned: a directory for those of all cells; NULL: there are none yet */
    int figures_fd; /* owned: the same; -1 */
    bool has_told_files; /* that they end with the session */
    int exit_status; /* of the last cell, as of `run` */
    int fatal;       /* the signal that ends this process, or 0 */
    int write_error; /* why output was lost, or 0 */
};

/* Stays where it is until it is closed, in any case. 0, or a negative errno with its fault. */
int shell_open(struct shell *shell, const struct settings *settings,
               const struct given_files *inputs, const struct language *language,
               struct fault *fault);
void shell_close(struct shell *shell);

/* Opens a session, if there is none, so that what is missing is known. 0, or a negative errno with its fault. */
int shell_prepare(struct shell *shell, struct fault *fault);

/* Runs a cell to its end, and tells of it. */
void shell_run(struct shell *shell, const char *code, size_t length);

/* The cells to come are in that language, if the image has it; else says that it has not. */
void shell_choose(struct shell *shell, const struct language *language);

/* Prints what the session has changed in copies of folders, with the patch. */
void shell_show_changes(struct shell *shell);

/* Tells of these changes as `run` does: the session is about to end. */
void shell_tell_changes(struct shell *shell);

/* Whether no further cell can be run: a signal came, or nobody takes the output. */
bool shell_is_over(const struct shell *shell);

#endif
