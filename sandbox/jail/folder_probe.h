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
 * Whether a tmpfs, on which upper layers are, keeps the extended attributes of an overlay. 0, or
 * -EOPNOTSUPP with a fault that names the kernel and the remedy. Costs a few system calls.
 */
int folder_probe_upper(struct fault *fault);

/*
 * Mounts an overlay in a user namespace of a child process, with an upper layer if the mode has one.
 * 0, or a negative errno with its fault. Costs milliseconds.
 */
int folder_probe(enum folder_mode mode, struct fault *fault);

#endif
