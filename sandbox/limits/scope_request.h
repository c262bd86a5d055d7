/*
 * Asking the service manager for a scope: executes the program that speaks to it
 * (sandbox/scope/main.c), and tells from the loop how that went.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_SCOPE_REQUEST_H
#define SANDBOX_LIMITS_SCOPE_REQUEST_H

#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"

#include <sys/types.h>

struct scope_request {
    struct loop *loop; /* borrowed; NULL: nothing is under way */
    pid_t pid;
    int pidfd;
    int output_fd;     /* one line: why not */
    struct loop_watch end;
    struct loop_timer deadline;
    /* status 0: this process is in the scope; else a negative errno, and the fault says why. */
    void (*answered)(struct scope_request *request, int status, const struct fault *fault);
};

#define SCOPE_REQUEST_NONE ((struct scope_request){.pidfd = -1, .output_fd = -1, .end = {.fd = -1}})

/* request->answered is called once, from the loop; not when this fails. As above. */
int scope_request_start(struct scope_request *request, struct loop *loop, const char *program,
                        struct fault *fault);

/* Kills and reaps the program, if it is still there. */
void scope_request_release(struct scope_request *request);

#endif
