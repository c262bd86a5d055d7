/*
 * The files of /etc and the like that a Debian system has from maintainer scripts, and the places
 * that every run mounts on.  Side: jailed child, the image being its root.
 */
#ifndef IMAGES_BUILD_SYSTEM_H
#define IMAGES_BUILD_SYSTEM_H

#include "sandbox/base/fault.h"

/* The account that snippets run as, inside. */
#define ACCOUNT_NAME "sandbox"
#define ACCOUNT_HOME "/home/sandbox"
#define ACCOUNT_ID "1000"

/*
 * Provides the directories that a run mounts on or expects. -EBADMSG when one is there as something
 * else, a symbolic link too: a mount would go elsewhere.
 */
int system_provide_directories(struct fault *fault);

/* Adds the account to /etc/passwd and /etc/group unless its id exists, creating them if needed. */
int system_provide_account(struct fault *fault);

/* Names, certificates, time zone, fonts, the package status: all that is text. */
int system_configure(struct fault *fault);

/* The links of update-alternatives(1). */
int system_link_alternatives(struct fault *fault);

#endif
