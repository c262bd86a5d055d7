/*
 * Connections to a server in the jail. At WORD_STREAM (commands.h), init clones a process that connects to a TCP port of the
 * jail's loopback addresses and passes on what comes, with system calls alone, as a command whose program is here: its
 * stdin is what is sent, its stdout what is received.
 *
 * It exits with 0 when the server has ended its part, whatever of its stdin is left; with a positive errno if it could not
 * connect, or the connection ended by an error. It has the ids and walls of a program of the session, and no more reach than those.
 *
 * Side: child.  Source: ip(7), tcp(7).
 */
#ifndef SANDBOX_JAIL_CHILD_PORT_STREAM_H
#define SANDBOX_JAIL_CHILD_PORT_STREAM_H

#include "sandbox/jail/child/steps.h"

/* Starts the process; streams: stdin, stdout, stderr. Its pid, or a negative errno. */
int port_stream_start(struct jail *jail, uint16_t port, const int *streams);

#endif
