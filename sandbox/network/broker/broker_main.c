/*
 * code-sandbox-mcp-network: the broker between the network namespaces of jails and the network of this
 * machine. code-sandbox-mcp starts it, with a socket (SOCK_SEQPACKET) as its standard input, and sends
 * over it
 *
 *     the policy (policy.h), once
 *     a link for each jail (link.h): one byte with a descriptor
 *
 * It ends with its parent, or when the socket is closed.
 */
#include "sandbox/network/broker/broker.h"
#include "sandbox/network/broker/broker_confine.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/owned.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define CONTROL_FD STDIN_FILENO
#define EXIT_USAGE 2

static void on_control(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct broker *broker = container_of(watch, struct broker, control);
    char byte;
    int link_fd = -1;
    const struct fd_message message = {&byte, 1, &link_fd, 1};
    int r = fd_message_receive(watch->fd, &message, MSG_DONTWAIT);
    if (r == 1)
        jail_start(broker, link_fd); /* if it fails, the jail finds its link closed */
    else if (r != -EAGAIN && r != -EPROTO) /* EPROTO: no descriptor was left for the link */
        loop_stop(&broker->loop);
}

static int receive_policy(struct policy *policy, struct fault *fault)
{
    OWNED_MEMORY char *text = malloc(POLICY_TEXT_MAX);
    if (text == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the policy");
    ssize_t length = recv(CONTROL_FD, text, POLICY_TEXT_MAX, 0);
    int r = length < 0 ? -errno : policy_read(text, (size_t)length, policy);
    return r < 0 ? fault_set(fault, -r, "cannot read the policy: %m") : 0;
}

/* Each stream has two; others are those of jails, listeners, and connections being made. */
static void count_descriptors(struct broker *broker)
{
    struct rlimit files = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    broker->stream_max = files.rlim_max / 4 < STREAMS_MAX ? files.rlim_max / 4 : STREAMS_MAX;
    broker->spare_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int prepare(struct broker *broker, struct fault *fault)
{
    int r = receive_policy(&broker->policy, fault);
    if (r < 0)
        return r;
    broker->relay_bytes = malloc(RELAY_BYTES_MAX);
    if (broker->relay_bytes == NULL)
        return fault_set(fault, ENOMEM, "out of memory");
    r = loop_open(&broker->loop);
    if (r == 0)
        r = loop_watch(&broker->loop, &broker->control, CONTROL_FD, EPOLLIN);
    if (r < 0)
        return fault_set(fault, -r, "cannot start: %m");
    count_descriptors(broker);
    return confine_broker(fault);
}

static void release(struct broker *broker)
{
    while (broker->jails != NULL)
        jail_free(broker->jails);
    loop_close(&broker->loop);
    policy_release(&broker->policy);
    fd_close(&broker->spare_fd);
    free(broker->relay_bytes);
}

int main(int argc, char **argv)
{
    (void)argv;
    int type = 0;
    socklen_t size = sizeof(type);
    if (argc != 1 || getsockopt(CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
        type != SOCK_SEQPACKET) {
        fputs("code-sandbox-mcp-network: only code-sandbox-mcp starts this program\n", stderr);
        return EXIT_USAGE;
    }
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    prctl(PR_SET_DUMPABLE, 0UL);
    signal(SIGPIPE, SIG_IGN);
    OWNED(release)
    struct broker broker = {
        .loop = {.epoll_fd = -1},
        .policy = POLICY_OFF,
        .spare_fd = -1,
        .control = {.fd = -1, .ready = on_control},
    };
    struct fault fault = {0};
    int r = prepare(&broker, &fault);
    if (r == 0)
        r = loop_run(&broker.loop);
    if (r < 0)
        fprintf(stderr, "code-sandbox-mcp-network: %s\n",
                fault.text[0] != '\0' ? fault.text : strerror(-r));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
