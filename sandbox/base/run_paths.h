/*
 * Paths in the jail of a run.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_RUN_PATHS_H
#define SANDBOX_BASE_RUN_PATHS_H

#define RUN_HOME "/home/sandbox" /* $HOME of each run */
#define RUN_WORK "/work" /* where it starts, and where its code is */
#define RUN_TEMPORARY "/tmp"
#define RUN_PROGRAMS_PATH                                                                          \
    ".code-sandbox" /* below $HOME: programs of sessions, where no snippet works */
#define RUN_FIGURES_PATH ".code-sandbox/figures" /* below $HOME: 0001.png ... */

#endif
