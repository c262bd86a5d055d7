/*
 * Names of signals.
 *
 * Side: parent.  Source: signal(7).
 */
#ifndef SANDBOX_BASE_SIGNAL_NAME_H
#define SANDBOX_BASE_SIGNAL_NAME_H

/* "SIGSEGV" for 11, "SIGRTMIN+3", "signal 99" if it has no name. Static or thread-local text. */
const char *signal_name(int signal);

/* The signal of such a name, with or without "SIG"; 0: there is none. */
int signal_find(const char *name);

#endif
