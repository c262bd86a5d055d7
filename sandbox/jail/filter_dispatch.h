/*
 * A seccomp program made shorter. libseccomp asks for each system call's number by itself; here the numbers
 * that follow on each other and are answered alike are told from the others by one comparison, and words of
 * arguments are not looked at of which no bit is compared.
 *
 * The kernel checks and translates a filter anew for each process that installs it, which takes time by its
 * length.
 *
 * Side: parent.  Source: seccomp(2); Documentation/networking/filter.rst of the kernel.
 */
#ifndef SANDBOX_JAIL_FILTER_DISPATCH_H
#define SANDBOX_JAIL_FILTER_DISPATCH_H

#include "sandbox/jail/filter.h"

/*
 * Gives the same verdict on every call, whatever its architecture, number and arguments. A program that is
 * not of the shape that libseccomp gives to a filter for one architecture, or that would not become shorter,
 * is left as it is. 0 or -ENOMEM.
 */
int filter_dispatch_shorten(struct filter *filter);

#endif
