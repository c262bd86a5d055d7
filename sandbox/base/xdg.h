/*
 * Where a user's files are: the directories that the XDG specification names.
 *
 * Side: parent.  Source: XDG Base Directory Specification 0.8.
 */
#ifndef SANDBOX_BASE_XDG_H
#define SANDBOX_BASE_XDG_H

/*
 * The directory that `variable` ("XDG_DATA_HOME") names, else `fallback` (".local/share") below
 * $HOME, or below the home of the passwd entry. What is relative is ignored, as the specification
 * says. Not created; owned by the caller. 0; -ENOENT there is no home; -ENOMEM.
 */
int xdg_directory(const char *variable, const char *fallback, char **ret_path);

#endif
