#include "sandbox/child/steps.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NETWORK_STACK (16 << 10)

/* Puts itself into a new network namespace with a loopback that is up, and leaves a descriptor of it. */
static int make_network(struct jail_network *network)
{
    network->step = STEP_NETWORK_NAMESPACE;
    if (syscall(SYS_unshare, (unsigned long)CLONE_NEWNET) < 0)
        return -errno;
    network->step = STEP_LOOPBACK;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int r = ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
    if (r == 0) {
        network->step = STEP_NETWORK_NAMESPACE;
        network->fd = ioctl(fd, SIOCGSKNS); /* close-on-exec: open_related_ns() in fs/nsfs.c */
        r = network->fd < 0 ? -errno : 0;
    }
    close(fd);
    return r;
}

static int network_main(void *data)
{
    struct jail_network *network = data;
    network->error = -make_network(network);
    return 0;
}

/*
 * A network namespace takes the kernel as long as all the rest of the jail, and can be made beside it: by
 * a process that ends with it, and shares init's memory and descriptors meanwhile. They share errno too:
 * whether a call has failed is told by its result, and if both fail in one instant, the wrong one of two
 * causes may be told.
 */
int step_make_network(struct jail *jail)
{
    static char stack[NETWORK_STACK] __attribute__((aligned(16)));
    jail_note(jail, STEP_NETWORK_NAMESPACE, -1);
    jail->network = (struct jail_network){.fd = -1};
    jail->network.maker = clone(network_main, stack + sizeof(stack),
                                CLONE_VM | CLONE_FILES | SIGCHLD, &jail->network);
    return jail->network.maker < 0 ? -errno : 0;
}

/* While init has its capabilities: setns(2). */
int step_enter_network(struct jail *jail)
{
    struct jail_network *network = &jail->network;
    jail_note(jail, STEP_NETWORK_NAMESPACE, -1);
    int status;
    while (syscall(SYS_wait4, network->maker, &status, __WALL, &network->usage) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    if (network->error != 0) {
        jail_note(jail, network->step, -1);
        return -network->error;
    }
    if (status != 0)
        return -ESRCH; /* it was killed, and may have left more than a namespace */
    if (syscall(SYS_setns, network->fd, (unsigned long)CLONE_NEWNET) < 0)
        return -errno;
    close(network->fd);
    return 0;
}
