/*
 * Requesting a scope from the service manager: runs the program that talks to it
 * (sandbox/scope/scope_main.c), and reports the result from the loop.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_SCOPE_REQUEST_H
#define SANDBOX_LIMITS_SCOPE_REQUEST_H

#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"

#include <sys/types.h>

struct scope_request {
    struct loop *loop; /* borrowed; NULL: no request in progress */
    pid_t pid;
    int pidfd;
    int output_fd;     /* one line: the error */
    struct loop_watch end;
    struct loop_timer deadline;
    /* status 0: this process is in the scope; else a negative errno, and the fault says why. */
    void (*answered)(struct scope_request *request, int status, const struct fault *fault);
};

#define SCOPE_REQUEST_NONE ((struct scope_request){.pidfd = -1, .output_fd = -1, .end = {.fd = -1}})

/* request->answered is called once, from the loop; not when this fails. As above. */
int scope_request_start(struct scope_request *request, struct loop *loop, const char *program,
                        struct fault *fault);

/* Kills and reaps the program, if it still runs. */
void scope_request_release(struct scope_request *request);

#endif
