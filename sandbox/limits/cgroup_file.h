/*
 * The files of cgroup v2: reading and writing them, and finding the directory of this process.
 *
 * Side: parent.  Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), cgroups(7),
 * proc_pid_mountinfo(5).
 */
#ifndef SANDBOX_LIMITS_CGROUP_FILE_H
#define SANDBOX_LIMITS_CGROUP_FILE_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a set. */
enum cgroup_controller {
    CONTROLLER_MEMORY = 1 << 0,
    CONTROLLER_PIDS = 1 << 1,
    CONTROLLER_CPU = 1 << 2,
};
#define CONTROLLERS_ALL (CONTROLLER_MEMORY | CONTROLLER_PIDS | CONTROLLER_CPU)

/* Writes `text` in one write to a file of the directory. 0 or a negative errno. */
int cgroup_write(int directory_fd, const char *file, const char *text);

/* A file with one number; "max" is UINT64_MAX. 0, -EPROTO for anything else, a negative errno. */
int cgroup_read_number(int directory_fd, const char *file, uint64_t *ret_number);

/* The number behind `key` in a file of "KEY NUMBER" lines. As above; -ENOENT: no such key. */
int cgroup_read_key(int directory_fd, const char *file, const char *key, uint64_t *ret_number);

/* As those, of the text of such a file. */
int cgroup_parse_number(const char *text, uint64_t *ret_number);
int cgroup_find_key(const char *text, const char *key, uint64_t *ret_number);

/* The controllers that a file such as cgroup.controllers lists; 0 when it cannot be read. */
unsigned cgroup_read_controllers(int directory_fd, const char *file);

/* "memory", "pids", "cpu". */
const char *cgroup_controller_name(enum cgroup_controller controller);

/* The cgroup of this process. */
struct cgroup_location {
    char *directory;      /* owned: "/sys/fs/cgroup/user.slice/..." */
    unsigned controllers; /* available at the root of the hierarchy */
    /* The lowest limits from there up to the mount point; UINT64_MAX: none. */
    uint64_t memory_ceiling;
    uint64_t processes_ceiling;
};

/*
 * 0; -ENOENT without a usable cgroup v2 hierarchy, with a fault that says why and what would help;
 * -ENOMEM.
 */
int cgroup_location_find(struct cgroup_location *ret_place, struct fault *fault);
void cgroup_location_release(struct cgroup_location *place);

/*
 * Its two parsers, for tests: the path after "0::" in /proc/self/cgroup; and the directory of that
 * path according to /proc/self/mountinfo, with the mount point. Owned by the caller; NULL: none, or
 * out of memory.
 */
char *cgroup_own_path(const char *cgroup_text);
char *cgroup_directory(const char *mountinfo_text, const char *path, char **ret_mount_point);

#endif
