#include "sandbox/jail/child/jail_network.h"

#include "sandbox/jail/child/descriptors.h"
#include "sandbox/jail/child/steps.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A new network namespace has one interface, the loopback, which is down: network_namespaces(7). */
static int start_loopback(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int r = ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
    close(fd);
    return r;
}

/* Hands the network to the broker. What it gets is not the snippet's: all descriptors are closed. */
static int connect_broker(struct jail *jail)
{
    int fds[LINK_SOCKETS];
    jail_note(jail, STEP_ROUTES, -1);
    bool has_rules = false;
    int r = routes_make(&has_rules);
    if (r < 0)
        return r;
    jail_note(jail, STEP_BROKER_SOCKETS, -1);
    r = broker_sockets_make(fds);
    if (r < 0)
        return r;
    jail_note(jail, STEP_SHOW_NETWORK, -1);
    r = descriptors_hand_over(jail->plan->network_fd, has_rules ? LINK_OPEN : LINK_OPEN_PLAIN, fds,
                              LINK_SOCKETS);
    close(jail->plan->network_fd);
    return r;
}

int step_make_network(struct jail *jail)
{
    if (jail->plan->host_network)
        return 0;
    if (syscall(SYS_unshare, (unsigned long)CLONE_NEWNET) < 0)
        return -errno;
    jail_note(jail, STEP_LOOPBACK, -1);
    int r = start_loopback();
    return r < 0 || jail->plan->network_fd < 0 ? r : connect_broker(jail);
}
