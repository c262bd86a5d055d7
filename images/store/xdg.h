/*
 * A user's directories according to the XDG specification.
 *
 * Side: parent.  Source: XDG Base Directory Specification 0.8.
 */
#ifndef IMAGES_STORE_XDG_H
#define IMAGES_STORE_XDG_H

/* $HOME if it is absolute, else the home of the passwd entry; NULL: there is none. Borrowed. */
const char *xdg_home(void);

/*
 * The directory named by `variable` ("XDG_DATA_HOME"), else `fallback` (".local/share") below $HOME
 * or the home of the passwd entry. A relative path is ignored, as the specification requires. The
 * directory is not created; the caller owns the path. 0; -ENOENT: there is no home; -ENOMEM.
 */
int xdg_directory(const char *variable, const char *fallback, char **ret_path);

#endif
