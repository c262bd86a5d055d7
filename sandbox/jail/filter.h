/*
 * Seccomp profiles: JSON in the shape of the OCI runtime specification and Docker, compiled once to
 * the bytes that the child installs.
 *
 * Side: parent.  Source: OCI runtime-spec, config-linux.md "Seccomp"; seccomp(2); libseccomp.
 */
#ifndef SANDBOX_JAIL_FILTER_H
#define SANDBOX_JAIL_FILTER_H

#include "sandbox/base/fault.h"

#include <linux/filter.h>
#include <stddef.h>

struct filter {
    struct sock_filter *code; /* owned */
    unsigned short length;    /* instructions */
};

/*
 * Compiles a profile. defaultAction must be a denial; names that libseccomp does not know are left
 * to it, and so is the system call `without`, unless NULL. Another architecture's system calls, x32
 * among them, kill the process.
 * 0; -EINVAL with a fault that names the member that is wrong; another negative errno.
 */
int filter_compile(const char *json, size_t length, const char *without, struct filter *ret_filter,
                   struct fault *fault);

/*
 * Whether libseccomp comes to an end with a profile that somebody brought: up to 2.5.5 it goes round in
 * circles over some pairs of rules that each look at two arguments. Tried in a process of its own. 0, or
 * -ETIME with a fault that says what to do.
 */
int filter_try(const char *json, size_t length, struct fault *fault);

/* The profile that is part of the program: seccomp-profiles/default.json. */
int filter_compile_default(const char *without, struct filter *ret_filter, struct fault *fault);

/* The profile under which programs of an image install: build.json there, put over default.json. */
int filter_compile_build(struct filter *ret_filter, struct fault *fault);

/* The profile under which archives are unpacked, and files of an image arranged: unpack.json. */
int filter_compile_unpack(struct filter *ret_filter, struct fault *fault);

void filter_release(struct filter *filter);

#endif
