/*
 * Copies of files of the host's /proc that tell of the machine alone: in place of a /proc of the jail's own.
 *
 * Side: both.  Source: proc(5).
 */
#ifndef SANDBOX_JAIL_CHILD_PROC_COPIES_H
#define SANDBOX_JAIL_CHILD_PROC_COPIES_H

/*
 * Copies the files of these names, with NULL at the end, from one directory to another that has none of them; their
 * modes are 0444 without what umask(2) takes. A file that the host does not have, or show, is left out; a long one is
 * cut. 0 or a negative errno.
 */
int proc_copies_write(int from_directory, int to_directory, const char *const *names);

#endif
