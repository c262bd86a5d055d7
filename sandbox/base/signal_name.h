/*
 * Names of signals.
 *
 * Side: parent.  Source: signal(7).
 */
#ifndef SANDBOX_BASE_SIGNAL_NAME_H
#define SANDBOX_BASE_SIGNAL_NAME_H

/* "SIGSEGV" for 11, "SIGRTMIN+3", "signal 99" if it has no name. Static or thread-local text. */
const char *signal_name(int signal);

#endif
