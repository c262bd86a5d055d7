/*
 * Settings of a process that are written as files of /proc.
 *
 * Side: parent.  Source: proc(5).
 */
#ifndef SANDBOX_PROCFILE_H
#define SANDBOX_PROCFILE_H

#include "sandbox/base/fault.h"

#include <sys/types.h>

/* Writes `text` to /proc/PID/NAME in one write. 0, or a negative errno with a fault that names it. */
int procfile_write(pid_t pid, const char *name, const char *text, struct fault *fault);

#endif
