/*
 * What git directories and files of git lead to: programs take commands from there, too.
 *
 * The files are the user's or, after a run, a snippet's: untrusted. Side: parent.
 * Source: gitrepository-layout(5), git-config(1).
 */
#ifndef SANDBOX_JAIL_FOLDERS_GIT_FILES_H
#define SANDBOX_JAIL_FOLDERS_GIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define GIT_FILE_MAX 262144 /* bytes of a file of settings */

/*
 * Whether git would take the directory for one of its own, whatever its name: a bare repository, for
 * example. Rather yes than no.
 */
bool git_directory_is(int directory_fd);

/*
 * Reads a file of git, through links: regular files only, and no more than `size` bytes with a NUL at
 * the end. The length; -EFBIG; or another negative errno: git cannot read it either.
 */
int git_file_read(const char *path, char *text, size_t size);

/* The path in the text of a .git file ("gitdir: ") or commondir, in place; NULL: git refuses it. */
char *git_file_gitdir(char *text);
char *git_file_commondir(char *text);

enum git_setting {
    GIT_HOOKS, /* core.hooksPath */
    GIT_INCLUDE, /* include.path, includeIf.*.path */
    GIT_WORKTREE, /* core.worktree */
};

#define GIT_SECTION_SIZE 16 /* longer names are none of ours */

/*
 * The next setting that names a path in the text of a file of settings: its value ends with a NUL in
 * place, and *text is what follows. `section` begins as "". NULL: there is no other.
 */
char *git_settings_next(char **text, char section[GIT_SECTION_SIZE], enum git_setting *ret_setting);

#endif
