/*
 * The directory of --files-dir, for copies of the files that snippets leave.
 *
  * The operator names it; a snippet chooses only the names and bytes of files. Names are made plain
 * (plain_name.h). Files get mode 0600, directories 0700. Existing files are never replaced, and links
 * never followed: each part of a path is opened separately, below the directory.
 *
 * Side: parent.  Source: openat2(2), RESOLVE_BENEATH; open(2), O_EXCL.
 */
#ifndef INTERPRETER_FILES_FILES_DIR_H
#define INTERPRETER_FILES_FILES_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct files_dir {
    const char *path; /* borrowed, absolute; NULL: no copies are made */
    bool
        is_flat; /* files go into the directory itself; otherwise each call gets a directory there */
    int fd; /* borrowed: the directory, open since the start */
};

struct file_to_save {
    const char *name; /* borrowed; a relative path without "." and ".." */
    int fd; /* borrowed; read from its start */
    uint64_t size;
    char *path; /* filled in, owned: the absolute path of the copy; NULL: not copied */
    int error; /* filled in: 0, or a negative errno for files_dir_reason() */
};

/*
 * Copies the files of a call, at most FILES_DIR_BYTES_MAX: into a new directory DIR/CALL, or DIR/CALL-2
 * and so on if that exists; into DIR if it is flat. Nothing is copied if DIR is no longer the directory at its path,
 * so that nothing put in its place leads elsewhere. 0; a negative errno if the directory cannot be opened
 * or made, which is then also the error of each file; -ESTALE: it has been moved or replaced.
 */
int files_dir_save(const struct files_dir *directory, uint64_t call, struct file_to_save *files,
                   size_t count);

/* "No space left on device", for a sentence. Static or thread-local text. */
const char *files_dir_reason(int error);

#endif
