/*
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end a fetch cleanly: it stops waiting and removes unfinished
 * work. SIGPIPE does not end it.
 *
 * The signals are blocked except during the waits of subprocess.c, so that none is missed. The flag
 * is the one mutable global of the program. Side: parent.
 */
#ifndef IMAGES_BASE_INTERRUPT_H
#define IMAGES_BASE_INTERRUPT_H

#include "sandbox/base/fault.h"

#include <signal.h>

/* Blocks and handles the signals, and ignores SIGPIPE. Call it at the start of the program. */
void interrupt_install(void);

/* The signal that came, or 0. */
int interrupt_signal(void);

/* -EINTR with a fault that names it. */
int interrupt_fault(struct fault *fault);

/* The mask for ppoll(2) that unblocks the signals. */
void interrupt_mask(sigset_t *ret_mask);

/* In a new child: restores default actions and unblocks all signals. */
void interrupt_reset(void);

#endif
