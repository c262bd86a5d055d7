/*
 * Which system calls a confined child may make that reads archives or arranges files: those on
 * files, memory and its own end. No new process, no socket, no mount, no device.
 *
 * The namespaces keep what it can reach inside the tree; this keeps the kernel's rarer parts out of
 * reach of whoever takes over libarchive.
 *
 * Side: confined child.  Source: seccomp(2), seccomp_rule_add(3).
 */
#ifndef IMAGES_UNPACK_CONFINE_FILTER_H
#define IMAGES_UNPACK_CONFINE_FILTER_H

#include "sandbox/base/fault.h"

/*
 * Installs it, for good. Other calls fail with EPERM; those of another architecture, x32 among it,
 * end the process. 0 or a negative errno.
 */
int confine_filter_install(struct fault *fault);

#endif
