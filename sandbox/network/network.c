#include "sandbox/network/network.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spawn.h"
#include "sandbox/network/link.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define REPORT_MAX_MS 100
#define LATE_REPORTS_MAX 8 /* to earlier questions, taken ahead of the one that is waited for */

struct network {
    const struct policy *policy;
    const char *program;
    pid_t pid;
    int control_fd; /* -1: there is no broker */
};

int network_check_tier(enum tier tier, struct fault *fault)
{
    if (tier < TIER_C)
        return 0;
    return fault_set(
        fault, EOPNOTSUPP,
        "snippets cannot have a network in tier %s, because it takes a namespace: start without "
        "--network, --allow-host and --map-host",
        tier_name(tier));
}

int network_new(const struct policy *policy, const char *program, struct network **ret_network,
                struct fault *fault)
{
    struct network *network = malloc(sizeof(*network));
    if (network == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the network");
    *network = (struct network){.policy = policy, .program = program, .control_fd = -1};
    *ret_network = network;
    return 0;
}

bool network_may_ping(void)
{
    static enum { UNKNOWN, YES, NO } answer;
    if (answer == UNKNOWN) {
        OWNED_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
        answer = fd >= 0 ? YES : NO;
    }
    return answer == YES;
}

static void end_broker(struct network *network)
{
    fd_close(&network->control_fd);
    if (network->pid > 0) {
        kill(network->pid, SIGKILL);
        while (waitpid(network->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    network->pid = 0;
}

void network_free(struct network *network)
{
    if (network == NULL)
        return;
    end_broker(network);
    free(network);
}

int network_broker_pid(const struct network *network)
{
    return network->pid;
}

/* With the socket as its stdin, our stderr, and no variables. */
static int spawn_broker(struct network *network, int control_fd)
{
    char *const arguments[] = {(char *)network->program, NULL};
    char *const environment[] = {NULL};
    const int fds[] = {control_fd, SPAWN_NULL};
    return spawn_start(&(struct spawn){.program = network->program,
                                       .arguments = arguments,
                                       .environment = environment,
                                       .fds = fds,
                                       .fd_count = ARRAY_LENGTH(fds)},
                       &network->pid);
}

static int send_policy(const struct network *network)
{
    OWNED(buffer_release) struct buffer text = BUFFER(POLICY_TEXT_MAX);
    int r = policy_write(network->policy, &text);
    if (r == 0 && send(network->control_fd, text.data, text.length, MSG_NOSIGNAL) < 0)
        r = -errno;
    return r;
}

static int start_broker(struct network *network, struct fault *fault)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fault_set(fault, errno, "cannot make a socket for the network: %m");
    network->control_fd = pair[0];
    OWNED_FD int theirs = pair[1];
    int r = spawn_broker(network, theirs);
    if (r < 0)
        fault_set(fault, -r, "cannot start %s, without which sandboxes have no network: %m",
                  network->program);
    if (r == 0)
        r = send_policy(network);
    if (r < 0) {
        end_broker(network);
        fault_set(fault, -r, "cannot start the network: %m");
    }
    return r;
}

static int send_link(const struct network *network, int link_fd)
{
    char byte = 0;
    const struct fd_message message = {&byte, 1, &link_fd, 1};
    return fd_message_send(network->control_fd, &message);
}

int network_link(struct network *network, int *ret_link_fd, struct fault *fault)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fault_set(fault, errno, "cannot make a socket for the network: %m");
    OWNED_FD int own = pair[0];
    OWNED_FD int theirs = pair[1];
    int r = network->control_fd >= 0 ? send_link(network, theirs) : -EPIPE;
    if (r == -EPIPE || r == -ECONNRESET) { /* none yet, or it has died, perhaps with links unread */
        end_broker(network);
        r = start_broker(network, fault);
        if (r == 0)
            r = send_link(network, theirs);
    }
    if (r < 0)
        return fault_set(fault, -r, "cannot give a sandbox its network: %m");
    *ret_link_fd = fd_take(&own);
    return 0;
}

void network_ask(int link_fd, bool is_end, uint32_t number)
{
    const struct link_question question = {is_end ? LINK_END : LINK_REPORT, number};
    send(link_fd, &question, sizeof(question),
         MSG_DONTWAIT | MSG_NOSIGNAL); /* without it, there is no answer to take */
}

/* The next record of the link. False: none comes soon. */
static bool take_next(int link_fd, struct network_record *ret_record)
{
    static uint8_t bytes[RECORD_BYTES_MAX];
    struct pollfd answer = {.fd = link_fd, .events = POLLIN};
    ssize_t length = recv(link_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (length < 0 && errno == EAGAIN && poll(&answer, 1, REPORT_MAX_MS) == 1)
        length = recv(link_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    return length > 0 && record_read(bytes, (size_t)length, ret_record);
}

void network_take(int link_fd, uint32_t number, struct network_record *ret_record)
{
    for (int i = 0; i <= LATE_REPORTS_MAX && take_next(link_fd, ret_record); i++) {
        if (ret_record->number == number)
            return;
    }
    *ret_record = (struct network_record){.is_lost = 1};
}
