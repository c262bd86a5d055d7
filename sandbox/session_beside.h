/*
 * Commands beside the cells of a session: when they begin, and what follows their end.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_BESIDE_H
#define SANDBOX_SESSION_BESIDE_H

#include "sandbox/session_state.h"

/* Lets processes run on, and starts commands that wait. The session has a place. */
void session_begin_commands(struct session *session);

/* For command_set.ended. */
void session_on_command_end(struct command_set *set);

#endif
