/*
 * What becomes of the network of a session: it counts for each command and for the cell that runs meanwhile; else for the
 * next cell.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_NETWORK_H
#define SANDBOX_SESSION_NETWORK_H

#include "sandbox/session_state.h"

/* Counts what has become of it until now. Whether the session has one. */
bool session_network_note(struct command_set *set);

/* For the cell that ends, after limited_sandbox_ask_network(). NULL: no network, or no memory; owned by the caller. */
struct network_record *session_network_take(struct session *session);

#endif
