#include "sandbox/jail/child/jail_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#define PORT_DNS 53
#define BACKLOG 8
#define SYN_BYTES 128 /* of a packet: its headers */
#define TCP_FLAGS_AT 13
#define FLAGS_SYN_ACK 0x12
#define FLAG_SYN 0x02
#define IP_DESTINATION_AT 16
#define LOOPBACK_NETWORK 127
#define ECHO_BYTES 2048 /* of a packet: a longer one is not answered */
#define ECHO_REQUEST 8
#define ALL UINT32_MAX

/* Of a listener: drops each SYN without the mark. Everything else passes. Offsets are those of TCP. */
static const struct sock_filter marked_syns[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, TCP_FLAGS_AT),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FLAGS_SYN_ACK),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FLAG_SYN, 0, 2),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_MARK)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LINK_MARK, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, ALL),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

/* Of the raw socket: only SYNs without the mark, and none to 127.0.0.0/8. Offsets are those of IPv4. */
static const struct sock_filter foreign_syns[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_MARK)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LINK_MARK, 7, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP_DESTINATION_AT),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LOOPBACK_NETWORK, 5, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_IND, TCP_FLAGS_AT),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FLAGS_SYN_ACK),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FLAG_SYN, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SYN_BYTES),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

/* Of the socket for ping: only echo requests. Offsets are those of IPv4. */
static const struct sock_filter echo_requests[] = {
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ECHO_REQUEST, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, ECHO_BYTES),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int attach(int fd, const struct sock_filter *filter, unsigned short length)
{
    const struct sock_fprog program = {length, (struct sock_filter *)filter};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

static int bind_to(int fd, uint32_t ipv4, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(ipv4),
    };
    return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static int open_socket(int type, int protocol, int *ret_fd)
{
    *ret_fd = socket(AF_INET, type | SOCK_CLOEXEC, protocol);
    return *ret_fd < 0 ? -errno : 0;
}

static int make_dns(int *ret_fd)
{
    int r = open_socket(SOCK_DGRAM, 0, ret_fd);
    if (r == 0)
        r = set_option(*ret_fd, IPPROTO_IP, IP_PKTINFO, 1);
    return r == 0 ? bind_to(*ret_fd, INADDR_ANY, PORT_DNS) : r;
}

/* The filter before anything else: what arrives earlier is not filtered. */
static int make_raw(int protocol, const struct sock_filter *filter, unsigned short length,
                    int *ret_fd)
{
    int r = open_socket(SOCK_RAW, protocol, ret_fd);
    if (r == 0)
        r = attach(*ret_fd, filter, length);
    if (r == 0)
        r = set_option(*ret_fd, IPPROTO_IP, IP_HDRINCL, 1);
    return r == 0 ? set_option(*ret_fd, SOL_SOCKET, SO_MARK, LINK_MARK) : r;
}

static int make_factory(int *ret_fd)
{
    int r = open_socket(SOCK_STREAM | SOCK_NONBLOCK, 0, ret_fd);
    if (r == 0)
        r = attach(*ret_fd, marked_syns, sizeof(marked_syns) / sizeof(marked_syns[0]));
    if (r == 0)
        r = set_option(*ret_fd, SOL_SOCKET, SO_MARK, LINK_MARK);
    if (r == 0)
        r = bind_to(*ret_fd, LINK_FACTORY_ADDRESS, LINK_FACTORY_PORT);
    return r == 0 && listen(*ret_fd, BACKLOG) < 0 ? -errno : r;
}

static int make_connector(int *ret_fd)
{
    int r = open_socket(SOCK_STREAM | SOCK_NONBLOCK, 0, ret_fd);
    return r == 0 ? set_option(*ret_fd, SOL_SOCKET, SO_MARK, LINK_MARK) : r;
}

int broker_sockets_make(int fds[LINK_SOCKETS])
{
    int r = make_dns(&fds[LINK_DNS]);
    if (r == 0)
        r = make_raw(IPPROTO_TCP, foreign_syns, sizeof(foreign_syns) / sizeof(foreign_syns[0]),
                     &fds[LINK_SYN]);
    if (r == 0)
        r = make_factory(&fds[LINK_FACTORY]);
    if (r == 0)
        r = make_connector(&fds[LINK_CONNECTOR]);
    return r == 0 ? make_raw(IPPROTO_ICMP, echo_requests,
                             sizeof(echo_requests) / sizeof(echo_requests[0]), &fds[LINK_PING])
                  : r;
}
