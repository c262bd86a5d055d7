/*
 * Sends descriptors to the other end of a socket.
 *
 * Side: child.
 */
#ifndef SANDBOX_JAIL_CHILD_DESCRIPTORS_H
#define SANDBOX_JAIL_CHILD_DESCRIPTORS_H

#include "sandbox/jail/child/steps.h"

/* Those of the work and home directories, and of the upper layers of folders. */
#define DESCRIPTORS_MAX (3 + JAIL_FOLDERS_MAX)

/*
 * Sends one byte with `count` descriptors (1..DESCRIPTORS_MAX), without waiting, and closes them. 0 or a
 * negative errno (ETOOMANYREFS: unix(7)).
 */
int descriptors_hand_over(int socket_fd, char byte, const int *fds, size_t count);

#endif
