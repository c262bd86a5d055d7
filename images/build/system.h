/*
 * Files that maintainer scripts create on a Debian system, such as those in /etc, and the mount
 * points of a run. Side: jailed child with the image as its root.
 */
#ifndef IMAGES_BUILD_SYSTEM_H
#define IMAGES_BUILD_SYSTEM_H

#include "sandbox/base/fault.h"

/* The account of snippets in the jail. */
#define ACCOUNT_NAME "sandbox"
#define ACCOUNT_HOME "/home/sandbox"
#define ACCOUNT_ID "1000"

/*
 * Creates the directories that a run needs, as mount points or otherwise. -EBADMSG if one exists as
 * anything else, including a symbolic link, which would redirect the mount.
 */
int system_provide_directories(struct fault *fault);

/* Adds the account to /etc/passwd and /etc/group unless its id exists, creating them if needed. */
int system_provide_account(struct fault *fault);

/* Writes the text files: names, certificates, time zone, fonts, package status. */
int system_configure(struct fault *fault);

/* The links of update-alternatives(1). */
int system_link_alternatives(struct fault *fault);

#endif
