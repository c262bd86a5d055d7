#include "sandbox/jail/child/steps.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NETWORK_STACK (16 << 10)

enum progress {
    MAKER_ENDED, /* the kernel says so, however it ends: CLONE_CHILD_CLEARTID in clone(2) */
    MAKER_WORKS,
    MAKER_HAS_MADE, /* the namespace; its loopback is not up yet */
};

static long futex(struct jail_network *network, int operation, uint32_t value)
{
    /* Between processes, as the kernel's own waking is at the end of the maker. */
    return syscall(SYS_futex, &network->progress, operation, value, NULL, NULL, 0);
}

/* Shows init a descriptor of the namespace of the socket. */
static int show_network(struct jail_network *network, int socket_fd)
{
    network->step = STEP_NETWORK_NAMESPACE;
    network->fd = ioctl(socket_fd, SIOCGSKNS); /* close-on-exec: open_related_ns() in fs/nsfs.c */
    if (network->fd < 0)
        return -errno;
    atomic_store(&network->progress, MAKER_HAS_MADE);
    futex(network, FUTEX_WAKE, 1);
    return 0;
}

static int start_loopback(struct jail_network *network, int socket_fd)
{
    network->step = STEP_LOOPBACK;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    return ioctl(socket_fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

/* Puts itself into a new network namespace with a loopback that is up. */
static int make_network(struct jail_network *network)
{
    network->step = STEP_NETWORK_NAMESPACE;
    if (syscall(SYS_unshare, (unsigned long)CLONE_NEWNET) < 0)
        return -errno;
    network->step = STEP_LOOPBACK;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int r = show_network(network, fd);
    if (r == 0)
        r = start_loopback(network, fd);
    close(fd);
    return r;
}

/*
 * Beside init, and not behind it: where nobody is idle for the moment, the scheduler leaves a new process
 * where its parent works. With init asleep it may be anywhere. A hint: one processor has no other.
 */
static void place_maker(pid_t maker, bool init_works)
{
    cpu_set_t processors = {{0}};
    unsigned here;
    if (syscall(SYS_sched_getaffinity, 0, sizeof(processors), &processors) < 0 ||
        syscall(SYS_getcpu, &here, NULL, NULL) < 0)
        return;
    if (init_works)
        CPU_CLR(here, &processors);
    syscall(SYS_sched_setaffinity, maker, sizeof(processors), &processors);
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
    struct jail_network *network = &jail->network;
    jail_note(jail, STEP_NETWORK_NAMESPACE, -1);
    *network = (struct jail_network){.fd = -1, .progress = MAKER_WORKS};
    network->maker = clone(network_main, stack + sizeof(stack),
                           CLONE_VM | CLONE_FILES | CLONE_CHILD_CLEARTID | SIGCHLD, network, NULL,
                           NULL, &network->progress);
    if (network->maker < 0)
        return -errno;
    place_maker(network->maker, true);
    return 0;
}

/* While init has its capabilities: setns(2). The maker may go on meanwhile. */
int step_enter_network(struct jail *jail)
{
    struct jail_network *network = &jail->network;
    jail_note(jail, STEP_NETWORK_NAMESPACE, -1);
    if (atomic_load(&network->progress) == MAKER_WORKS)
        place_maker(network->maker, false);
    while (futex(network, FUTEX_WAIT, MAKER_WORKS) == 0 || errno == EINTR)
        ;
    if (errno != EAGAIN) /* that it works no more */
        return -errno;
    if (atomic_load(&network->progress) == MAKER_ENDED && network->fd < 0) {
        int r = step_finish_network(jail);
        return r < 0 ? r : -ESRCH;
    }
    if (syscall(SYS_setns, network->fd, (unsigned long)CLONE_NEWNET) < 0)
        return -errno;
    close(network->fd);
    return 0;
}

/*
 * Before the program starts: the maker is of init's memory and has its first capabilities. Fails where
 * it has, or has been killed.
 */
int step_finish_network(struct jail *jail)
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
    return status != 0 ? -ESRCH : 0;
}
