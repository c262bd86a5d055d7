#include "sandbox/limits/socket_memory.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/socket_diag.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SOCKSTAT_MAX 1024

/* What a socket costs the kernel with its file and inode; and a connection in TIME_WAIT. */
#define SOCKET_BYTES (4 * KIBIBYTE)
#define CLOSING_BYTES 512

/* The kernel's default (tcp(7)), where its setting cannot be read. */
#define TCP_BUFFER_DEFAULT (6 * MEBIBYTE)

void socket_memory_close(struct socket_memory *sockets)
{
    fd_close(&sockets->sockstat_fd);
    fd_close(&sockets->user_ns_fd);
    fd_close(&sockets->net_ns_fd);
}

/* The number behind `name` in the line that begins with `line`. */
static bool number_of(const char *text, const char *line, const char *name, uint64_t *ret_number)
{
    const char *at = strstr(text, line);
    const char *end = at == NULL ? NULL : strchr(at + 1, '\n');
    at = at == NULL ? NULL : strstr(at, name);
    if (at == NULL || (end != NULL && at > end))
        return false;
    return sscanf(at + strlen(name), "%" SCNu64, ret_number) == 1;
}

bool socket_memory_parse(const char *text, struct socket_count *ret_count)
{
    struct socket_count count;
    uint64_t tcp_pages;
    uint64_t udp_pages;
    if (!number_of(text, "sockets:", " used ", &count.used) ||
        !number_of(text, "\nTCP:", " tw ", &count.closing) ||
        !number_of(text, "\nTCP:", " mem ", &tcp_pages) ||
        !number_of(text, "\nUDP:", " mem ", &udp_pages))
        return false;
    count.inet_bytes = (tcp_pages + udp_pages) * (uint64_t)sysconf(_SC_PAGESIZE);
    *ret_count = count;
    return true;
}

bool socket_memory_count(const struct socket_memory *sockets, struct socket_count *ret_count)
{
    char text[SOCKSTAT_MAX];
    ssize_t length = pread(sockets->sockstat_fd, text, sizeof(text) - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return socket_memory_parse(text, ret_count);
}

/* The largest buffer that a program can ask for: SO_SNDBUF or SO_RCVBUF in socket(7). */
static uint64_t buffer_max(int option)
{
    OWNED_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int normal = 0;
    int most = 1 << 30;
    socklen_t size = sizeof(int);
    getsockopt(fd, SOL_SOCKET, option, &normal, &size);
    setsockopt(fd, SOL_SOCKET, option, &most, size);
    getsockopt(fd, SOL_SOCKET, option, &most, &size);
    return (uint64_t)(most > normal ? most : normal);
}

/*
 * The kernel accepts a message while any room is left, even one as large as the whole buffer:
 * sock_alloc_send_pskb() in net/core/sock.c. Messages of a stream are smaller.
 */
static uint64_t unix_max(void)
{
    return 2 * buffer_max(SO_SNDBUF) + 64 * KIBIBYTE;
}

/* The most that a TCP or UDP socket can have received, give or take one packet. */
static uint64_t inet_max(void)
{
    uint64_t most = buffer_max(SO_RCVBUF);
    uint64_t tcp = TCP_BUFFER_DEFAULT;
    char text[80] = "";
    OWNED_FD int fd = open("/proc/sys/net/ipv4/tcp_rmem", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
        sscanf(text, "%*u %*u %" SCNu64, &tcp);
    return most > tcp ? most : tcp;
}

static uint64_t objects_of(const struct socket_count *count)
{
    return count->used * SOCKET_BYTES + count->closing * CLOSING_BYTES;
}

uint64_t socket_memory_bound(const struct socket_count *count)
{
    if (count->used == 0)
        return objects_of(count);
    return objects_of(count) + count->used * unix_max() + count->inet_bytes;
}

static uint64_t less(uint64_t one, uint64_t other)
{
    return one > other ? one - other : 0;
}

/*
 * The kernel does not list TCP and UDP sockets without a port. Together they hold at most what the
 * whole machine has in TCP and UDP beyond the listed sockets. It lists all AF_UNIX sockets but
 * closed and unaccepted ones, and the listed sockets tell how many of those there are.
 */
static uint64_t bytes_of_unlisted(const struct socket_sum *sum, uint64_t used,
                                  uint64_t machine_inet_bytes)
{
    uint64_t closed = less(sum->unlisted_peers, sum->unaccepted_open);
    uint64_t unlisted = less(used, sum->seen + closed + sum->unaccepted);
    uint64_t inet = unlisted * inet_max();
    uint64_t others = less(machine_inet_bytes, sum->inet_bytes);
    return (inet < others ? inet : others) + (sum->lacks_unix ? unlisted * unix_max() : 0);
}

uint64_t socket_memory_sum(const struct socket_memory *sockets)
{
    struct socket_count before;
    struct socket_count after;
    struct socket_sum sum = {.lacks_unix = true};
    if (!socket_memory_count(sockets, &before))
        return UINT64_MAX;
    if (before.used == 0)
        return objects_of(&before);
    if (setns(sockets->user_ns_fd, CLONE_NEWUSER) == 0 &&
        setns(sockets->net_ns_fd, CLONE_NEWNET) == 0)
        socket_diag_sum(unix_max(), &sum);
    if (!socket_memory_count(sockets, &after))
        return UINT64_MAX;
    uint64_t used = before.used < after.used ? before.used : after.used;
    return objects_of(&after) + sum.unix_bytes + sum.orphan_bytes + sum.inet_bytes +
           bytes_of_unlisted(&sum, used, after.inet_bytes);
}
