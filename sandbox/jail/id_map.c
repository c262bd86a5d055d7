#include "sandbox/jail/id_map.h"

#include "sandbox/jail/proc_file.h"
#include "sandbox/jail/remedy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * For a server started by root. Above every range that distributions and container managers assign,
 * so that no file, process or quota of the host belongs to it; see systemd's UIDS-GIDS.
 */
#define UNUSED_ID 1900000000

struct id_range {
    unsigned long first, parent, count;
};

/*
 * Chooses among the ids of this namespace: UNUSED_ID, else the highest (0 only if there is no
 * other). An unreadable or empty map must not yield 0.
 */
static int choose_from(FILE *file, unsigned long *ret_id)
{
    unsigned long chosen = 0;
    bool found = false;
    struct id_range range;
    while (fscanf(file, "%lu %lu %lu", &range.first, &range.parent, &range.count) == 3) {
        if (range.count == 0)
            continue;
        found = true;
        if (range.first <= UNUSED_ID && UNUSED_ID - range.first < range.count)
            chosen = UNUSED_ID;
        else if (chosen != UNUSED_ID && range.first + range.count - 1 > chosen)
            chosen = range.first + range.count - 1;
    }
    if (ferror(file) || !found)
        return -EIO;
    *ret_id = chosen;
    return 0;
}

static int choose_unprivileged(const char *path, unsigned long *ret_id, struct fault *fault)
{
    FILE *file = fopen(path, "re");
    int r = file == NULL ? -errno : choose_from(file, ret_id);
    if (file != NULL)
        fclose(file);
    if (r < 0)
        return fault_set(fault, -r,
                         "cannot read %s to choose an unprivileged id for the sandbox: %m. "
                         "Is /proc mounted?",
                         path);
    return 0;
}

int id_map_choose(struct id_map *ret_map, struct fault *fault)
{
    struct id_map map = {true, geteuid(), getegid(), JAIL_UID, JAIL_GID};
    if (map.outside_uid == 0) {
        unsigned long uid = 0;
        unsigned long gid = 0;
        int r = choose_unprivileged("/proc/self/uid_map", &uid, fault);
        if (r == 0)
            r = choose_unprivileged("/proc/self/gid_map", &gid, fault);
        if (r < 0)
            return r;
        /*
         * If 0 is the only mapped id, it is an ordinary user of the parent namespace: `unshare -r`.
         */
        map.outside_uid = (uid_t)uid;
        map.outside_gid = (gid_t)gid;
    }
    *ret_map = map;
    return 0;
}

int id_map_write(const struct id_map *map, pid_t pid, struct fault *fault)
{
    char uids[64];
    char gids[64];
    snprintf(uids, sizeof(uids), "%u %u 1", (unsigned)map->inside_uid, (unsigned)map->outside_uid);
    snprintf(gids, sizeof(gids), "%u %u 1", (unsigned)map->inside_gid, (unsigned)map->outside_gid);
    struct fault cause = {0};
    int r = proc_file_write(pid, "setgroups", "deny", &cause);
    if (r == 0)
        r = proc_file_write(pid, "uid_map", uids, &cause);
    if (r == 0)
        r = proc_file_write(pid, "gid_map", gids, &cause);
    if (r == 0)
        return 0;
    fault_identify(fault, "map_ids");
    return fault_set(fault, -r, "cannot map the sandbox's user to one outside: %s%s", cause.text,
                     remedy_clause(STEP_WAIT_FOR_ID_MAP, -r).text);
}
