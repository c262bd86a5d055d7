/*
 * One call from its line to the line of its result: the check of --policy, the run, the changes to
 * folders, the copies of files.
 *
 * Side: parent.
 */
#ifndef FLEET_CALL_RUN_H
#define FLEET_CALL_RUN_H

#include "fleet/call_line.h"
#include "interpreter/cases/test_run.h"
#include "interpreter/checker.h"
#include "interpreter/files/files_dir.h"
#include "interpreter/folders/patch_queue.h"
#include "interpreter/metrics/metrics_file.h"
#include "interpreter/workers/fleet_link.h"

/* What all calls of a process share. It stays where it is. */
struct call_site {
    struct loop *loop;               /* borrowed */
    const struct settings *settings; /* borrowed */
    struct launcher launcher;
    struct checker checker; /* of --policy */
    struct patch_queue patches;
    struct files_dir directory; /* of --files-dir */
    struct metrics_file metrics; /* of --metrics-file */
    struct fleet_link link; /* to workers elsewhere */
    bool is_elsewhere; /* they run the calls */
};

/*
 * `fleet` without an address: calls run here. To be closed in any case. As checker_open(), metrics_file_open()
 * and fleet_link_open().
 */
int call_site_open(struct call_site *site, struct loop *loop, const struct settings *settings,
                   const struct fleet_settings *fleet, struct fault *fault);

/* Kills what runs, without a word. All calls must be dropped afterwards. */
void call_site_stop(struct call_site *site);
void call_site_close(struct call_site *site);

enum call_end {
    CALL_RAN,
    CALL_NOT_RUN, /* the result is an error: bad arguments, the rules, or the sandbox failed */
    CALL_LOST,    /* it may have run */
};

struct call_run {
    /* Set by the caller. */
    void (*done)(struct call_run *run,
                 enum call_end end); /* once, from the loop; `result` is there */
    struct call_site *site;
    uint64_t number; /* of its line */
    struct call_line call; /* taken over */
    /* The rest is call_run.c's. */
    struct buffer result; /* the line; empty: there was no memory for it */
    struct check check;
    bool is_checking;
    struct launched run; /* while it goes on */
    struct test_run tests; /* the same, of a call that has some */
    struct fleet_ticket ticket; /* while it is elsewhere */
    struct run_result ended;
    struct patch_job patches;
};

/* 0: done() follows. A negative errno with its fault: it does not. */
int call_run_start(struct call_run *run, struct fault *fault);

/* Makes `result` an error, for a call that was not started. */
void call_run_refuse(struct call_run *run, const struct fault *fault);

/* Whether nothing of it has run yet. */
bool call_run_is_waiting(const struct call_run *run);

/* Ends it, if it goes on: done() does not follow. Releases what it owns. */
void call_run_drop(struct call_run *run);

#endif
