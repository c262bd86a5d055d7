/*
 * Users that nobody else has, for jails without a user namespace of their own: one for the program, one for its
 * init, and one for the guard of both (sandbox/jail/child/chroot.c). Only for root.
 *
 * They are locked by the name of an abstract socket, which ends with this process: no other server of this network
 * namespace takes it. Side: parent.  Source: credentials(7), unix(7).
 */
#ifndef SANDBOX_ROOTS_SPARE_IDS_H
#define SANDBOX_ROOTS_SPARE_IDS_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <sys/types.h>

#define SPARE_IDS_MAX 256

struct spare_ids {
    uid_t uid; /* and gid, of the program; 0: none */
    uid_t init_uid, guard_uid;
    int lock_fd; /* owned */
};

#define SPARE_IDS_NONE ((struct spare_ids){.lock_fd = -1})

/*
 * Takes three without an account in /etc/passwd and without a process. 0; -EAGAIN: all are taken; or another
 * negative errno; with a fault.
 */
int spare_ids_take(struct spare_ids *ret_ids, struct fault *fault);
/* Whether a process has any of the ids, by /proc. */
bool spare_ids_have_process(const struct spare_ids *ids);
void spare_ids_release(struct spare_ids *ids);

#endif
