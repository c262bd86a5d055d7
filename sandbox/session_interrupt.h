/*
 * How a cell is told to end: it is interrupted, then pressed again and again, then ended with its session.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_INTERRUPT_H
#define SANDBOX_SESSION_INTERRUPT_H

#include "sandbox/session_state.h"

/* The present cell, if it runs. */
void session_interrupt(struct session *session, enum run_outcome outcome);

/* It has not ended in time. */
void session_press(struct session *session);

#endif
