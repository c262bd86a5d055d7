/*
 * Asking for the changes of a folder: runs code-sandbox-mcp-changes, and reports from the loop.
 *
 * The program reads what a snippet wrote. It confines itself, and is killed after CHANGES_WALL_MAX_MS.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FOLDERS_CHANGES_REQUEST_H
#define INTERPRETER_FOLDERS_CHANGES_REQUEST_H

#include "interpreter/folders/changes.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"

#include <sys/types.h>
#include <time.h>

struct changes_spec {
    const char *program; /* borrowed for the call, as are the descriptors */
    int upper_fd;        /* the root of the upper layer, with no writer left */
    int host_fd;         /* the folder; O_PATH is enough */
    struct timespec since;
};

struct changes_request {
    struct loop *loop; /* borrowed; NULL: no request in progress */
    pid_t pid;
    int pidfd, patch_fd, report_fd;
    struct loop_watch end;
    struct loop_timer deadline;
    /*
     * Set by the caller. Status 0: the changes, which the function may take over; else a negative errno,
     * and the fault says why. The request is over, and may be started again.
     */
    void (*answered)(struct changes_request *request, int status, struct changes *changes,
                     const struct fault *fault);
};

#define CHANGES_REQUEST_NONE                                                                       \
    ((struct changes_request){.pidfd = -1, .patch_fd = -1, .report_fd = -1, .end = {.fd = -1}})

/* request->answered is called once, from the loop; not when this fails. 0 or a negative errno. */
int changes_request_start(struct changes_request *request, struct loop *loop,
                          const struct changes_spec *spec, struct fault *fault);

/* Kills and reaps the program, if it still runs. */
void changes_request_release(struct changes_request *request);

#endif
