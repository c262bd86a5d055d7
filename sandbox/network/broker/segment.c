#include "sandbox/network/broker/segment.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <string.h>

#define IP_HEADER_SIZE sizeof(struct iphdr)
#define TCP_HEADER_SIZE sizeof(struct tcphdr)
#define TIME_TO_LIVE 64
#define QUOTED_SIZE 28 /* of the packet in question: RFC 792 */

/* The sum of 16-bit words in network order. */
static uint32_t add_words(uint32_t sum, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
    return length % 2 == 0 ? sum : sum + (uint32_t)(bytes[length - 1] << 8);
}

static uint16_t checksum(uint32_t sum)
{
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

uint16_t internet_checksum(const uint8_t *bytes, size_t length)
{
    return checksum(add_words(0, bytes, length));
}

/* With the pseudo header: RFC 9293, 3.1. */
static uint16_t tcp_checksum(const struct iphdr *ip, const uint8_t *tcp, size_t length)
{
    uint8_t addresses[8];
    memcpy(addresses, &ip->saddr, 4);
    memcpy(addresses + 4, &ip->daddr, 4);
    uint32_t sum = add_words(IPPROTO_TCP + (uint32_t)length, addresses, sizeof(addresses));
    return checksum(add_words(sum, tcp, length));
}

bool segment_read(const uint8_t *bytes, size_t length, struct segment *ret_segment)
{
    struct iphdr ip;
    struct tcphdr tcp;
    if (length < IP_HEADER_SIZE + TCP_HEADER_SIZE)
        return false;
    memcpy(&ip, bytes, sizeof(ip));
    size_t ip_length = ip.ihl * 4U;
    if (ip.version != 4 || ip_length < IP_HEADER_SIZE || ip.protocol != IPPROTO_TCP ||
        (ntohs(ip.frag_off) & (IP_MF | IP_OFFMASK)) != 0 || length < ip_length + TCP_HEADER_SIZE)
        return false;
    memcpy(&tcp, bytes + ip_length, sizeof(tcp));
    size_t tcp_length = tcp.doff * 4U;
    size_t headers = ip_length + tcp_length;
    if (tcp_length < TCP_HEADER_SIZE || headers > length || headers > SEGMENT_MAX || !tcp.syn ||
        tcp.ack || tcp.rst || tcp.fin)
        return false;
    *ret_segment = (struct segment){
        .source = ip.saddr,
        .destination = ip.daddr,
        .source_port = ntohs(tcp.source),
        .destination_port = ntohs(tcp.dest),
        .sequence = ntohl(tcp.seq),
        .length = headers,
    };
    memcpy(ret_segment->bytes, bytes, headers);
    return true;
}

void segment_seal(struct segment *segment)
{
    struct iphdr ip;
    memcpy(&ip, segment->bytes, sizeof(ip));
    size_t ip_length = ip.ihl * 4U;
    ip.tot_len = htons((uint16_t)segment->length);
    ip.check = 0; /* the kernel fills it in: raw(7) */
    memcpy(segment->bytes, &ip, sizeof(ip));
    uint8_t *tcp = segment->bytes + ip_length;
    size_t tcp_length = segment->length - ip_length;
    memset(tcp + offsetof(struct tcphdr, check), 0, 2);
    uint16_t sum = tcp_checksum(&ip, tcp, tcp_length);
    memcpy(tcp + offsetof(struct tcphdr, check), &sum, sizeof(sum));
}

/* From the destination back to the source. */
static struct iphdr answer_header(const struct segment *segment, uint8_t protocol, size_t length)
{
    return (struct iphdr){
        .version = 4,
        .ihl = IP_HEADER_SIZE / 4,
        .tot_len = htons((uint16_t)length),
        .ttl = TIME_TO_LIVE,
        .protocol = protocol,
        .saddr = segment->destination,
        .daddr = segment->source,
    };
}

void segment_write_reset(const struct segment *segment, uint8_t packet[SEGMENT_RESET_SIZE])
{
    struct iphdr ip = answer_header(segment, IPPROTO_TCP, SEGMENT_RESET_SIZE);
    struct tcphdr tcp = {
        .source = htons(segment->destination_port),
        .dest = htons(segment->source_port),
        .ack_seq = htonl(segment->sequence + 1),
        .doff = TCP_HEADER_SIZE / 4,
        .rst = 1,
        .ack = 1,
    };
    uint8_t bytes[TCP_HEADER_SIZE];
    memcpy(bytes, &tcp, sizeof(tcp));
    tcp.check = tcp_checksum(&ip, bytes, sizeof(bytes));
    memcpy(packet, &ip, sizeof(ip));
    memcpy(packet + sizeof(ip), &tcp, sizeof(tcp));
}

void segment_write_unreachable(const struct segment *segment, enum unreachable code,
                               uint8_t packet[SEGMENT_UNREACHABLE_SIZE])
{
    struct iphdr ip = answer_header(segment, IPPROTO_ICMP, SEGMENT_UNREACHABLE_SIZE);
    struct icmphdr icmp = {.type = ICMP_DEST_UNREACH, .code = (uint8_t)code};
    uint8_t *at = packet + sizeof(ip);
    memcpy(packet, &ip, sizeof(ip));
    memcpy(at, &icmp, sizeof(icmp));
    /* The header may have options, which push the ports away: quote it without them. */
    struct iphdr quoted;
    memcpy(&quoted, segment->bytes, sizeof(quoted));
    size_t ip_length = quoted.ihl * 4U;
    quoted.ihl = IP_HEADER_SIZE / 4;
    memcpy(at + sizeof(icmp), &quoted, sizeof(quoted));
    memcpy(at + sizeof(icmp) + sizeof(quoted), segment->bytes + ip_length,
           QUOTED_SIZE - sizeof(quoted));
    icmp.checksum = checksum(add_words(0, at, SEGMENT_UNREACHABLE_SIZE - sizeof(ip)));
    memcpy(at, &icmp, sizeof(icmp));
}
