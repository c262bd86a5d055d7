/*
 * Pictures that a snippet leaves in its work directory, found once nothing of it runs any more.
 *
 * The sandbox hands its parent a descriptor of the directory while it is set up, so that nothing has to
 * be done inside at the end. What lies there is the snippet's: only regular files are opened, by names
 * of one part, without following links, and their bytes are for who shows them to judge.
 *
 * Side: parent.  Source: unix(7), SCM_RIGHTS; open(2), O_NOFOLLOW.
 */
#ifndef SANDBOX_RUN_FILES_H
#define SANDBOX_RUN_FILES_H

#include "sandbox/result.h"

/*
 * Takes the descriptor that waits in the socket, and opens the newest files of the directory whose
 * names end as those of pictures do: at most RUN_FILES_MAX, in the order in which they were written.
 * Whatever cannot be had is left out.
 */
void run_files_collect(int files_fd, struct run_result *result);

#endif
