/*
 * A doubly linked list of runs; each run is in one at most.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RUN_LIST_H
#define SANDBOX_RUN_LIST_H

#include "sandbox/run_state.h"

/* Appends a run that is in no list. */
void run_list_add(struct run_list *list, struct run *run);

/* Takes the run out of its list. */
void run_list_remove(struct run *run);

#endif
