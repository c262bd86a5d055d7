/*
 * How the code gets to the program.
 *
 * A program started after its code arrives finds the code in its file. A prewarmed program starts
 * first and finds a FIFO in place of the file: the interpreter initialises, then blocks in open(2),
 * behind every wall. When the code arrives, a regular file replaces the FIFO, for tracebacks and
 * child processes that open it later, the input files are written beside it, and the code goes
 * through the FIFO to the interpreter, which cannot tell that it was prewarmed.
 *
 * Side: child.  Source: fifo(7), open(2) ENXIO, sendfile(2).
 */
#ifndef SANDBOX_JAIL_CHILD_CODE_H
#define SANDBOX_JAIL_CHILD_CODE_H

#include "sandbox/jail/child/steps.h"

/*
 * In state CODE_AWAITED: reads the parent's word. False: it is not WORD_CODE, or the parent is
 * gone.
 */
bool code_has_come(struct jail *jail);

/*
 * Timeout for poll(2): milliseconds until code_hand_over() must be called in any case; -1: never.
 */
int code_timeout(const struct jail *jail);

/*
 * In a session, where the parcel comes again: writes the files and, if the program of the first lane is to be started
 * anew, the code. Replaces files of these names. 0, or a negative errno and jail_note().
 */
int code_receive_again(struct jail *jail, const struct parent_message *message);

/*
 * Continues to hand over the code, as far as possible without blocking. 0, or a negative errno,
 * after which the jail is unusable.
 */
int code_hand_over(struct jail *jail);

#endif
