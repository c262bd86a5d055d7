/*
 * Files that a snippet leaves in its work directory, and the figures of its plots, collected once
 * all its processes are dead or, in a session, stopped.
 *
 * The sandbox sends its parent descriptors of the directories that it can write to during set-up, so that
 * nothing has to be done inside at the end. The snippet controls names, structure and content. Only
 * regular files are opened, below these directories, without following links or crossing mounts;
 * the number of system calls is bounded; the caller must judge the bytes.
 * Upper layers of folders come the same way and are passed on unopened.
 *
 * Figures are the files 0001.png, 0002.png, ... of RUN_FIGURES_PATH below the home directory. A
 * file of size 0 stands for a figure that was not drawn because there were enough; after
 * RUN_FIGURES_COUNTED_MAX there are no more.
 *
 * Side: parent.  Source: unix(7), SCM_RIGHTS; openat2(2).
 */
#ifndef SANDBOX_RUN_FILES_H
#define SANDBOX_RUN_FILES_H

#include "sandbox/jail/run_spec.h"
#include "sandbox/limits/limits.h"
#include "sandbox/result.h"
#include "sandbox/run_inputs.h"

#include <sys/types.h>
#include <time.h>

/* Directories of a sandbox that its programs can write to, and the upper layers of its overlay folders in order. */
struct run_directories {
    int work_fd, home_fd, temporary_fd; /* owned; -1: none */
    int upper_fds[FOLDERS_MAX]; /* owned; upper_count of them */
    size_t upper_count;
};

#define RUN_DIRECTORIES_NONE                                                                       \
    ((struct run_directories){.work_fd = -1, .home_fd = -1, .temporary_fd = -1})

/* Takes the descriptors from the socket, once. Without any, the directories are none. */
void run_directories_receive(int files_fd, const struct folders *folders,
                             struct run_directories *ret_directories);
void run_directories_close(struct run_directories *directories);

/*
 * Files that were found before, as they were then: those that have not changed are not found again. Where
 * changes have times of ticks, one that was found may have the time of `since`.
 */
struct run_files_seen {
    struct {
        ino_t inode;
        struct timespec changed_at;
    } list[2 * LEFT_PLACES * RUN_FILES_LOOKED_MAX];
    size_t count;
};

struct run_files_source {
    const struct run_directories *directories; /* borrowed */
    const char *code_name; /* borrowed; the program's own file, which is left out */
    struct run_inputs inputs; /* left out as long as they are unchanged */
    struct folder_guard *guard; /* borrowed */
    bool is_look; /* its result tells no protected names: they are left to the next one */
    struct timespec folders_since; /* run_folder.since */
    struct timespec since; /* file_clock.since: files that have not changed since are left out */
    struct run_files_seen *seen; /* borrowed; what is found is added; NULL: none */
    bool removes_figures; /* after they are opened: those found next are new ones */
    size_t files_max; /* in the result; 0: RUN_FILES_MAX */
    struct upper_directory *uppers; /* that of the sandbox; moved to the result; or NULL */
};

/*
 * Passes on duplicates of the upper layers of folders, and looks for protected names in writable ones.
 * Opens the newest `files_max` of the first RUN_FILES_LOOKED_MAX files found, and the first
 * RUN_FIGURES_MAX figures. Leaves out __pycache__, and names in `left_out` what else it leaves out: hidden
 * directories, node_modules, directories marked as caches or environments, whatever the owner may not
 * read, what is too deep, and the files of the home directory and /tmp whose names do not begin with a dot.
 * Sets `files`, `left_out`, `figures`, `folders` and `appeared`, which must be empty. If no descriptors arrived,
 * because too many were in transit or open, all but the last are lost.
 */
void run_files_collect(const struct run_files_source *source, struct run_result *result);

#endif
