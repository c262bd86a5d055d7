/*
 * The link of a jail to the broker: a pair of sockets (SOCK_SEQPACKET).
 *
 * The server makes it, sends one end to the broker and lets the child inherit the other, through which
 * the child sends the sockets of its network. Then the link is the server's.
 *
 * Side: both, and the child.
 */
#ifndef SANDBOX_NETWORK_LINK_H
#define SANDBOX_NETWORK_LINK_H

#include <stdint.h>

/* Messages to the broker. The child's are of one byte; the server's are a struct link_question. */
enum link_word {
    LINK_OPEN = 'o',   /* from the child, with LINK_SOCKETS descriptors */
    LINK_OPEN_PLAIN =
        'p', /* the same of a kernel without routing rules: its closed ports refuse by themselves */
    LINK_REPORT = 'r', /* answered with a record: record.h */
    LINK_END = 'e', /* the same; streams are reset first, because no process is left */
};

struct link_question {
    uint32_t word;
    uint32_t
        number; /* that of the record which answers it, or a late answer would be taken for another */
};

/* The sockets, in their order. All belong to the jail's network namespace. */
enum link_socket {
    LINK_DNS, /* UDP, bound to port 53 of every address, with IP_PKTINFO */
    LINK_SYN, /* raw TCP with LINK_MARK, which receives only SYNs of others */
    LINK_FACTORY, /* a listener: what it accepts are sockets with LINK_MARK and its filter */
    LINK_CONNECTOR, /* a TCP socket to connect to the factory; neither of the two blocks */
    LINK_PING, /* raw ICMP with LINK_MARK, which receives only echo requests */
    LINK_SOCKETS,
};

/* The packets of the broker: only they reach its listeners. Snippets cannot set it: socket(7), SO_MARK. */
#define LINK_MARK 1

/* The name of the jail's host, which is the jail itself. */
#define LINK_JAIL_NAME "sandbox"
/* The address of its interface. */
#define LINK_JAIL_ADDRESS 0xc6130001 /* 198.19.0.1 */
#define LINK_FACTORY_ADDRESS 0xc6130002 /* 198.19.0.2 */
#define LINK_FACTORY_PORT 1

#endif
