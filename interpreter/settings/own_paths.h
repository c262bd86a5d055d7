/*
 * The files that the server itself reads, writes and executes, which no snippet may change.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_OWN_PATHS_H
#define INTERPRETER_SETTINGS_OWN_PATHS_H

#include "interpreter/settings/settings.h"
#include "sandbox/base/fault.h"

/*
 * Whether all of them are outside of the folders that snippets write to, with every directory and link on the way
 * (path_walk.h): the value of each setting that is a path, the configuration, certificates, the store, this program
 * and its helpers, also where they are not there yet. The way to each mounted folder is held to the same.
 * They are added to settings->folders: each run protects other names of these files.
 * 0; -EPERM with a fault that names the path, the folder and the remedy; another negative errno with one.
 */
int own_paths_check(struct settings *settings, struct fault *fault);

/* The same for one more path; `name` is what it is for users. */
int own_paths_check_one(struct settings *settings, const char *name, const char *path,
                        struct fault *fault);

/*
 * Whether a file that is to be read for a snippet is where its path says: it may lie in a folder that snippets write
 * to, but no link in one may lead out of it. 0; -EPERM or another negative errno with its fault.
 */
int own_paths_check_given(const struct settings *settings, const char *path, struct fault *fault);

/* The same of what was opened by that path: a snippet of another server may have made a link since the check. */
int own_paths_check_opened(const struct settings *settings, const char *path, int fd,
                           struct fault *fault);

#endif
