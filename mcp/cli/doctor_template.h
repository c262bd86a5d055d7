/*
 * Whether --template makes sandboxes by forks here: one is made.
 *
 * Side: parent.
 */
#ifndef MCP_CLI_DOCTOR_TEMPLATE_H
#define MCP_CLI_DOCTOR_TEMPLATE_H

#include "mcp/cli/doctor.h"
#include "mcp/launch/launcher.h"

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

#endif
