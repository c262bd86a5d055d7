#include "sandbox/limits/socket_diag.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* As much as the kernel puts into one answer: netlink_dump() in net/netlink/af_netlink.c. */
#define ANSWER_MAX 32768

/* The memory of a one-byte message, and of the largest piece into which a stream is cut. */
#define SMALL_MESSAGE_BYTES KIBIBYTE
#define STREAM_PART_MAX (64 * KIBIBYTE)

struct attributes {
    const struct rtattr *first;
    size_t length;
};

/* The value of an attribute that has at least `size` bytes; NULL when there is none. */
static const void *attribute_of(struct attributes all, unsigned short type, size_t size)
{
    const char *at = (const char *)all.first;
    for (size_t left = all.length; left >= sizeof(struct rtattr);) {
        struct rtattr attribute;
        memcpy(&attribute, at, sizeof(attribute));
        if (attribute.rta_len < sizeof(attribute) || attribute.rta_len > left)
            return NULL;
        if (attribute.rta_type == type)
            return attribute.rta_len >= RTA_LENGTH(size) ? at + RTA_LENGTH(0) : NULL;
        size_t whole = RTA_ALIGN(attribute.rta_len);
        at += whole;
        left = whole < left ? left - whole : 0;
    }
    return NULL;
}

struct memory {
    uint32_t of[SK_MEMINFO_BACKLOG + 1]; /* by SK_MEMINFO_... */
};

static bool memory_of(struct attributes all, unsigned short type, struct memory *ret_memory)
{
    const void *value = attribute_of(all, type, sizeof(*ret_memory));
    if (value != NULL)
        memcpy(ret_memory, value, sizeof(*ret_memory));
    return value != NULL;
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/*
 * The kernel charges queued data to its sender, and does not list a sender that has been closed.
 * Then only the number of queued bytes is known. In a stream each message has at least one byte
 * left, and the first may be a large one, mostly read. Messages of other types may be empty.
 */
static uint64_t orphans_at(const struct unix_diag_msg *socket, uint32_t queued, uint64_t unix_max)
{
    if (socket->udiag_state == TCP_LISTEN)
        return 0;
    if (socket->udiag_type != SOCK_STREAM)
        return unix_max;
    return queued == 0 ? 0 : smaller(STREAM_PART_MAX + queued * SMALL_MESSAGE_BYTES, unix_max);
}

/*
 * A connection that has not been accepted is not listed itself. Its listener names the inode of the
 * client: 0 if the client is closed, and then only this tells that there may be data.
 */
static void add_unaccepted(struct attributes all, uint64_t unix_max, struct socket_sum *sum)
{
    const char *clients = attribute_of(all, UNIX_DIAG_ICONS, 0);
    if (clients == NULL)
        return;
    struct rtattr attribute;
    memcpy(&attribute, clients - RTA_LENGTH(0), sizeof(attribute));
    size_t count = (attribute.rta_len - RTA_LENGTH(0)) / sizeof(uint32_t);
    for (size_t i = 0; i < count; i++) {
        uint32_t inode;
        memcpy(&inode, clients + i * sizeof(inode), sizeof(inode));
        sum->unaccepted++;
        if (inode != 0)
            sum->unaccepted_open++;
        else
            sum->orphan_bytes += unix_max;
    }
}

static void add_unix(const struct unix_diag_msg *socket, struct attributes all, uint64_t unix_max,
                     struct socket_sum *sum)
{
    struct memory memory;
    uint32_t peer = 0;
    struct unix_diag_rqlen queue = {.udiag_rqueue = UINT32_MAX};
    if (!memory_of(all, UNIX_DIAG_MEMINFO, &memory))
        return;
    const void *peer_value = attribute_of(all, UNIX_DIAG_PEER, sizeof(peer));
    if (peer_value != NULL)
        memcpy(&peer, peer_value, sizeof(peer));
    const void *queue_value = attribute_of(all, UNIX_DIAG_RQLEN, sizeof(queue));
    if (queue_value != NULL)
        memcpy(&queue, queue_value, sizeof(queue));
    sum->seen++;
    sum->unix_bytes += (uint64_t)memory.of[SK_MEMINFO_WMEM_ALLOC] +
                       memory.of[SK_MEMINFO_RMEM_ALLOC] + memory.of[SK_MEMINFO_OPTMEM];
    add_unaccepted(all, unix_max, sum);
    if (peer != 0)
        return;
    if (peer_value != NULL)
        sum->unlisted_peers++;
    sum->orphan_bytes += orphans_at(socket, queue.udiag_rqueue, unix_max);
}

static void add_inet(struct attributes all, struct socket_sum *sum)
{
    struct memory memory;
    if (!memory_of(all, INET_DIAG_SKMEMINFO, &memory))
        return; /* It is being opened or closed: the kernel has no socket for it. */
    uint32_t sent = memory.of[SK_MEMINFO_WMEM_ALLOC];
    if (sent < memory.of[SK_MEMINFO_WMEM_QUEUED]) /* both include data in flight */
        sent = memory.of[SK_MEMINFO_WMEM_QUEUED];
    sum->seen++;
    sum->inet_bytes += (uint64_t)sent + memory.of[SK_MEMINFO_RMEM_ALLOC] +
                       memory.of[SK_MEMINFO_BACKLOG] + memory.of[SK_MEMINFO_OPTMEM];
}

static bool add_socket(const char *payload, size_t length, uint64_t unix_max,
                       struct socket_sum *sum)
{
    uint8_t family = length == 0 ? AF_UNSPEC : (uint8_t)payload[0];
    struct unix_diag_msg unix_socket;
    size_t head =
        NLMSG_ALIGN(family == AF_UNIX ? sizeof(unix_socket) : sizeof(struct inet_diag_msg));
    if (length < head)
        return false;
    struct attributes all = {(const struct rtattr *)(const void *)(payload + head), length - head};
    if (family == AF_UNIX) {
        memcpy(&unix_socket, payload, sizeof(unix_socket));
        add_unix(&unix_socket, all, unix_max, sum);
    } else {
        add_inet(all, sum);
    }
    return true;
}

/* What both the refusal of a request and the end of an answer begin with: 0 or a negative errno. */
static int error_of(const char *payload, size_t length)
{
    int error;
    if (length < sizeof(error))
        return -EBADMSG;
    memcpy(&error, payload, sizeof(error));
    return error < 0 ? error : 0;
}

int socket_diag_parse(const void *messages, size_t length, uint64_t unix_max,
                      struct socket_sum *sum)
{
    const char *at = messages;
    while (length > 0) {
        struct nlmsghdr header;
        if (length < sizeof(header))
            return -EBADMSG;
        memcpy(&header, at, sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > length)
            return -EBADMSG;
        const char *payload = at + NLMSG_HDRLEN;
        size_t payload_length = header.nlmsg_len - NLMSG_HDRLEN;
        if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR)
            return error_of(payload, payload_length);
        if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
            !add_socket(payload, payload_length, unix_max, sum))
            return -EBADMSG;
        size_t whole = NLMSG_ALIGN(header.nlmsg_len);
        at += whole;
        length = whole < length ? length - whole : 0;
    }
    return 1;
}

struct diag_request {
    struct nlmsghdr header;
    union {
        struct unix_diag_req of_unix;
        struct inet_diag_req_v2 of_inet;
    };
};

/* 0, or a negative errno: -ENOENT where the kernel has no module for it. */
static int add_all(int netlink_fd, struct diag_request *request, uint64_t unix_max,
                   struct socket_sum *sum)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
    request->header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (send(netlink_fd, request, request->header.nlmsg_len, 0) < 0)
        return -errno;
    int r;
    do {
        ssize_t length = recv(netlink_fd, answer, sizeof(answer), 0);
        r = length < 0    ? -errno
            : length == 0 ? -EBADMSG
                          : socket_diag_parse(answer, (size_t)length, unix_max, sum);
    } while (r > 0);
    return r;
}

static int add_all_unix(int netlink_fd, uint64_t unix_max, struct socket_sum *sum)
{
    struct diag_request request = {.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.of_unix)),
                                   .of_unix = {.sdiag_family = AF_UNIX,
                                               .udiag_states = UINT32_MAX,
                                               .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN |
                                                             UDIAG_SHOW_MEMINFO |
                                                             UDIAG_SHOW_ICONS}};
    return add_all(netlink_fd, &request, unix_max, sum);
}

static int add_all_inet(int netlink_fd, uint8_t family, uint8_t protocol, struct socket_sum *sum)
{
    struct diag_request request = {.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.of_inet)),
                                   .of_inet = {.sdiag_family = family,
                                               .sdiag_protocol = protocol,
                                               .idiag_ext = 1U << (INET_DIAG_SKMEMINFO - 1),
                                               .idiag_states = UINT32_MAX}};
    return add_all(netlink_fd, &request, 0, sum);
}

void socket_diag_sum(uint64_t unix_max, struct socket_sum *ret_sum)
{
    static const uint8_t families[] = {AF_INET, AF_INET6};
    static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
    struct socket_sum sum = {0};
    OWNED_FD int netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    sum.lacks_unix = netlink_fd < 0 || add_all_unix(netlink_fd, unix_max, &sum) < 0;
    for (size_t i = 0; netlink_fd >= 0 && i < ARRAY_LENGTH(families) * ARRAY_LENGTH(protocols); i++)
        add_all_inet(netlink_fd, families[i / 2], protocols[i % 2], &sum);
    *ret_sum = sum;
}
