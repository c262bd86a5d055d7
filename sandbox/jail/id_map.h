/*
 * The user of a jail: one uid and one gid. A snippet never has id 0 inside, and is never root
 * outside.
 *
 * Side: parent.  Source: user_namespaces(7), "User and group ID mappings".
 */
#ifndef SANDBOX_JAIL_ID_MAP_H
#define SANDBOX_JAIL_ID_MAP_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <sys/types.h>

#define JAIL_UID 1000
#define JAIL_GID 1000

struct id_map {
    bool is_mapped; /* in a user namespace of the jail; else the ids outside are its ids */
    uid_t outside_uid; /* on the host */
    gid_t outside_gid;
    uid_t inside_uid; /* the same ones in the jail */
    gid_t inside_gid;
};

/*
 * Chooses the user of a run. For an ordinary user: that user. For root: an id of the current user
 * namespace that owns nothing; if the namespace has only id 0, then 0, which is not root of the
 * host. 0, or a negative errno with its fault.
 */
int id_map_choose(struct id_map *ret_map, struct fault *fault);

/* Writes the maps of the new user namespace of `pid`, and denies setgroups there. */
int id_map_write(const struct id_map *map, pid_t pid, struct fault *fault);

#endif
