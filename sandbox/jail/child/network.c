#include "sandbox/jail/child/steps.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A new network namespace has one interface, the loopback, which is down: network_namespaces(7). */
int step_make_network(struct jail *jail)
{
    if (jail->plan->host_network)
        return 0;
    if (syscall(SYS_unshare, (unsigned long)CLONE_NEWNET) < 0)
        return -errno;
    jail_note(jail, STEP_LOOPBACK, -1);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int r = ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
    close(fd);
    return r;
}
