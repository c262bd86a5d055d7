/*
 * Which user a jail is: one uid and one gid. A snippet is never 0 inside, and never root outside.
 *
 * Side: parent.  Source: user_namespaces(7), "User and group ID mappings".
 */
#ifndef SANDBOX_JAIL_ID_MAP_H
#define SANDBOX_JAIL_ID_MAP_H

#include "sandbox/base/fault.h"

#include <sys/types.h>

#define JAIL_UID 1000
#define JAIL_GID 1000

struct id_map {
    uid_t outside_uid; /* on the host */
    gid_t outside_gid;
    uid_t inside_uid; /* the same ones in the jail */
    gid_t inside_gid;
};

/*
 * Of a run. For an ordinary user: the user. For root: an id that owns nothing, out of those that the current
 * user namespace has; where it has only the one that is called 0 here, that one, which is not root
 * of the host. 0, or a negative errno with its fault.
 */
int id_map_choose(struct id_map *ret_map, struct fault *fault);

/* Writes the maps of the new user namespace that `pid` is in; setgroups is denied there. */
int id_map_write(const struct id_map *map, pid_t pid, struct fault *fault);

#endif
