/*
 * Whether this kernel can show folders of the host in each mode: tried, not guessed from its version.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDER_PROBE_H
#define SANDBOX_JAIL_FOLDER_PROBE_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/folder_mode.h"

/*
 * Whether a tmpfs can hold upper layers: it has to keep extended attributes of users. 0, or
 * -EOPNOTSUPP with a fault that names the kernel. Costs a few system calls.
 */
int folder_probe_tmpfs(struct fault *fault);

/*
 * Makes a mount of this mode in a user namespace of a child process. In an overlay it also removes
 * things and makes others, for which the file system of the upper layer needs attributes and
 * whiteouts. That layer is on a tmpfs, or in `directory`: an absolute path without links. NULL: tmpfs.
 * 0, or a negative errno with its fault. Costs milliseconds.
 */
int folder_probe(enum folder_mode mode, const char *directory, struct fault *fault);

#endif
