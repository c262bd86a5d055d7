/*
 * How the code gets to the program.
 *
 * A program that starts with its code finds it in its file. One that is started ahead finds a FIFO in
 * the file's place: an interpreter does all that it does before it reads its program, and then waits
 * in open(2), behind every wall. When the code comes, a file with it takes the FIFO's place, for who
 * opens it from then on (tracebacks, child processes), and the code goes through the FIFO to the
 * interpreter, which cannot tell that it waited.
 *
 * Side: child.  Source: fifo(7), open(2) ENXIO, sendfile(2).
 */
#ifndef SANDBOX_JAIL_CHILD_CODE_H
#define SANDBOX_JAIL_CHILD_CODE_H

#include "sandbox/jail/child/steps.h"

/* CODE_AWAITED: reads the parent's word. False: it is not WORD_CODE, or the parent is gone. */
bool code_has_come(struct jail *jail);

/* For poll(2): milliseconds until code_hand_over() is due whatever happens, -1: never. */
int code_timeout(const struct jail *jail);

/*
 * Goes on with handing over the code, as far as that goes without waiting. 0, or a negative errno
 * after which the jail is of no use.
 */
int code_hand_over(struct jail *jail);

#endif
