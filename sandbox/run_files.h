/*
 * Pictures that a snippet leaves in its work directory, collected once all its processes are dead.
 *
 * The sandbox sends its parent a descriptor of the directory during set-up, so that nothing has to
 * be done inside at the end. The snippet controls the content: only regular files are opened, by
 * plain names, without following links, and the caller must validate their bytes.
 *
 * Side: parent.  Source: unix(7), SCM_RIGHTS; open(2), O_NOFOLLOW.
 */
#ifndef SANDBOX_RUN_FILES_H
#define SANDBOX_RUN_FILES_H

#include "sandbox/result.h"

/*
 * Receives the descriptor from the socket, and opens the newest files of the directory with the
 * name of a picture: at most RUN_FILES_MAX, the oldest first. Skips what it cannot open.
 */
void run_files_collect(int files_fd, struct run_result *result);

#endif
