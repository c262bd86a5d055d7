#include "sandbox/jail/session_channels.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Without MFD_ALLOW_SEALING the program cannot seal it either. */
static int make_memory(int pair[2], const struct id_map *map)
{
    char path[64];
    pair[0] = memfd_create("session", MFD_CLOEXEC);
    if (pair[0] < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", pair[0]);
    pair[1] = open(path, O_RDONLY | O_CLOEXEC);
    if (pair[1] < 0)
        return -errno;
    /* The program may reopen /dev/stdin, so it must own the memory. */
    if (map->outside_uid != geteuid() && fchown(pair[0], map->outside_uid, map->outside_gid) < 0)
        return -errno;
    return 0;
}

static int make_ways(int to_program[2], int from_program[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_program) < 0 ||
                   shutdown(to_program[0], SHUT_RD) < 0 || pipe2(from_program, O_CLOEXEC) < 0 ||
                   fcntl(from_program[0], F_SETFL, O_NONBLOCK) < 0
               ? -errno
               : 0;
}

int session_channels_open_lane(struct session_channels *channels, const struct id_map *map)
{
    int r = make_memory(channels->cells, map);
    if (r == 0)
        r = make_ways(channels->channel, channels->answers);
    return r;
}

int session_channels_open_calls(struct session_channels *channels)
{
    return make_ways(channels->results, channels->calls);
}

int session_channels_open(struct session_channels *channels, const struct jail_plan *plan,
                          const struct id_map *map)
{
    int r = make_memory(channels->input, map);
    if (r == 0 && plan->session == SESSION_LIVE)
        r = session_channels_open_lane(channels, map);
    if (r == 0 && plan->has_calls)
        r = session_channels_open_calls(channels);
    return r;
}

struct session_channels session_channels_take(struct session_channels *channels)
{
    struct session_channels taken = *channels;
    *channels = SESSION_CHANNELS_NONE;
    fd_close(&taken.channel[1]);
    fd_close(&taken.answers[1]);
    fd_close(&taken.cells[1]);
    fd_close(&taken.results[1]);
    fd_close(&taken.calls[1]);
    return taken;
}

void session_channels_close(struct session_channels *channels)
{
    for (int i = 0; i < 2; i++) {
        fd_close(&channels->channel[i]);
        fd_close(&channels->answers[i]);
        fd_close(&channels->cells[i]);
        fd_close(&channels->results[i]);
        fd_close(&channels->calls[i]);
        fd_close(&channels->input[i]);
    }
}
