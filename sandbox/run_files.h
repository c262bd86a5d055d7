/*
 * Files that a snippet leaves in its work directory, and the figures of its plots, collected once all its
 * processes are dead.
 *
 * The sandbox sends its parent descriptors of the work and home directories during set-up, so that
 * nothing has to be done inside at the end. The snippet controls names, structure and content: regular
 * files are opened below these directories without following links or crossing mounts, whatever is
 * done costs a bounded number of system calls, and the caller must judge the bytes.
 *
 * Figures are files 0001.png, 0002.png, ... of RUN_FIGURES_PATH below the home directory. One of size 0
 * stands for a figure that was not drawn, because there were enough.
 *
 * Side: parent.  Source: unix(7), SCM_RIGHTS; openat2(2).
 */
#ifndef SANDBOX_RUN_FILES_H
#define SANDBOX_RUN_FILES_H

#include "sandbox/result.h"
#include "sandbox/run_inputs.h"

struct run_files_source {
    int files_fd;          /* borrowed; the descriptors are received from it */
    const char
        *code_name; /* borrowed; the program in the work directory, which is none of its files */
    const struct run_inputs
        *inputs; /* borrowed; what is unchanged of them is left out. NULL: none */
};

/*
 * Opens the newest files, at most RUN_FILES_MAX of the RUN_FILES_LOOKED_MAX that it looks at, and the first
 * RUN_FIGURES_MAX figures. Leaves out the program, __pycache__ and node_modules, and what the owner
 * may not read. Both lists must be empty, and stay so if the descriptors have not come.
 */
void run_files_collect(const struct run_files_source *source, struct run_files *ret_files,
                       struct run_files *ret_figures);

#endif
