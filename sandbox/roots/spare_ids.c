#include "sandbox/roots/spare_ids.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/jail/id_map.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* In the file alone: a program linked statically cannot load what else may know users. */
static bool has_account(uid_t uid)
{
    FILE *file = fopen("/etc/passwd", "re");
    if (file == NULL)
        return false;
    bool found = false;
    struct passwd *account;
    while (!found && (account = fgetpwent(file)) != NULL)
        found = account->pw_uid == uid;
    fclose(file);
    return found;
}

static bool is_any(uid_t owner, const struct spare_ids *ids)
{
    return owner == ids->uid || owner == ids->init_uid || owner == ids->guard_uid;
}

/* By any of its ids. Its files in /proc may belong to root: proc_pid_status(5). */
static bool is_of(int proc_fd, const char *process, const struct spare_ids *ids)
{
    char path[32];
    char text[2048];
    unsigned uids[4];
    snprintf(path, sizeof(path), "%.16s/status", process);
    if (text_file_read(proc_fd, path, text, sizeof(text)) < 0)
        return false;
    const char *state =
        strstr(text, "\nState:\t"); /* a zombie that nobody reaps does nothing any more */
    if (state == NULL || state[sizeof("\nState:\t") - 1] == 'Z' ||
        state[sizeof("\nState:\t") - 1] == 'X')
        return false;
    const char *line = strstr(text, "\nUid:");
    if (line == NULL ||
        sscanf(line, " Uid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(uids); i++)
        if (is_any(uids[i], ids))
            return true;
    return false;
}

/* Skips ids that still have processes, left by a server that was killed together with its sandboxes. */
bool spare_ids_have_process(const struct spare_ids *ids)
{
    OWNED(directory_release) DIR *processes = directory_open(AT_FDCWD, "/proc");
    int fd = processes != NULL ? dirfd(processes) : -1;
    bool found = fd < 0;
    for (const char *name; !found && (name = directory_next_number(processes)) != NULL;)
        found = is_of(fd, name, ids);
    return found;
}

/* 0; -EADDRINUSE: another process has them. */
static int lock(struct spare_ids *ids)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "code-sandbox-mcp/uid/%u",
                          (unsigned)ids->uid);
    OWNED_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&name, size) < 0)
        return -errno;
    ids->lock_fd = fd_take(&fd);
    return 0;
}

int spare_ids_take(struct spare_ids *ret_ids, struct fault *fault)
{
    struct id_map highest;
    int r = id_map_choose(&highest, fault);
    if (r < 0)
        return r;
    /* One number is used for the user and for the group. */
    uid_t top =
        highest.outside_uid < highest.outside_gid ? highest.outside_uid : highest.outside_gid;
    for (unsigned i = 1; i <= SPARE_IDS_MAX && top > 3 * i + 2; i++) {
        OWNED(spare_ids_release)
        struct spare_ids ids = {.uid = top - 3 * i,
                                .init_uid = top - 3 * i - 1,
                                .guard_uid = top - 3 * i - 2,
                                .lock_fd = -1};
        bool is_taken =
            has_account(ids.uid) || has_account(ids.init_uid) || has_account(ids.guard_uid);
        r = is_taken ? -EADDRINUSE : lock(&ids);
        if (r < 0 && r != -EADDRINUSE)
            return fault_set(fault, -r, "cannot lock a user id for a sandbox: %m");
        if (r < 0 || spare_ids_have_process(&ids))
            continue;
        *ret_ids = ids;
        ids = SPARE_IDS_NONE;
        return 0;
    }
    return fault_set(
        fault, EAGAIN,
        "no user ids are left for a sandbox: this user namespace has %u, and sandboxes of other "
        "servers may have them",
        (unsigned)top);
}

void spare_ids_release(struct spare_ids *ids)
{
    fd_close(&ids->lock_fd);
    *ids = SPARE_IDS_NONE;
}
