#include "sandbox/base/spawn.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

static int set_signals(posix_spawnattr_t *attributes, bool has_own_group)
{
    sigset_t none, all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setflags(
        attributes, (short)(flags | (has_own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    if (error == 0)
        error = posix_spawnattr_setsigmask(attributes, &none);
    return error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &all);
}

static int set_descriptors(posix_spawn_file_actions_t *actions, const int *fds, size_t count)
{
    int error = 0;
    for (int i = 0; error == 0 && i < (int)count; i++)
        error = fds[i] == SPAWN_NULL
                    ? posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0)
                    : posix_spawn_file_actions_adddup2(actions, fds[i], i);
    return error;
}

static int start(const struct spawn *spawn, const int *fds, pid_t *ret_pid)
{
    char *const *environment = spawn->environment != NULL ? spawn->environment : environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int error = set_descriptors(&actions, fds, spawn->fd_count);
    if (error == 0)
        error = set_signals(&attributes, spawn->has_own_group);
    if (error == 0)
        error = posix_spawn(ret_pid, spawn->program, &actions, &attributes, spawn->arguments,
                            environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

int spawn_start(const struct spawn *spawn, pid_t *ret_pid)
{
    int fds[SPAWN_FDS_MAX] = {0};
    int copies[SPAWN_FDS_MAX];
    int r = spawn->fd_count <= SPAWN_FDS_MAX ? 0 : -EINVAL;
    size_t count = r == 0 ? spawn->fd_count : 0;
    for (size_t i = 0; i < count; i++)
        copies[i] = -1;
    for (size_t i = 0; r == 0 && i < count; i++) {
        fds[i] = spawn->fds[i];
        if (fds[i] == SPAWN_NULL || fds[i] >= (int)count)
            continue;
        /* A number that the program gets: without a copy, another one could overwrite it first. */
        fds[i] = copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, (int)count);
        r = fds[i] < 0 ? -errno : 0;
    }
    if (r == 0)
        r = start(spawn, fds, ret_pid);
    for (size_t i = 0; i < count; i++)
        fd_close(&copies[i]);
    return r;
}
