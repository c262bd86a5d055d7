/*
 * Whether --template makes sandboxes by forks here: one is made.
 *
 * Side: parent.
 */
#ifndef CLI_DOCTOR_TEMPLATE_H
#define CLI_DOCTOR_TEMPLATE_H

#include "interpreter/launcher.h"
#include "sandbox/base/json.h"

#define TEMPLATE_REASON_SIZE 192

struct template_finding {
    const struct language *language; /* whose image runs; NULL: there is none */
    bool is_off; /* the settings, the tier or the images rule it out */
    bool works;
    char reason[TEMPLATE_REASON_SIZE]; /* why not, or "" */
    int64_t run_ns;     /* of a run in a fork, from asking for it to its end */
};

struct template_probe {
    struct launcher *launcher;        /* borrowed */
    struct template_finding *finding; /* borrowed */
    void (*done)(void *data);
    void *data;
    struct loop_timer again;
    unsigned tries;
    int64_t begun_at; /* clock_now(), the run */
};

/* For a launcher that has run nothing yet: it makes templates, if the settings want any. */
void template_probe_prepare(struct launcher *launcher);

/*
 * Runs a program on the image, until its sandbox is a fork or several were not, and fills in the finding. Calls
 * done() from the loop, or before it returns.
 */
void template_probe_start(struct template_probe *probe);

/* Writes an object with the mode and the finding. */
void template_finding_write(struct json_writer *writer, const struct settings *settings,
                            const struct template_finding *finding);

#endif
