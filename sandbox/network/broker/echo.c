#include "sandbox/network/broker/echo.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#define TIME_TO_LIVE 64
#define ID_AT 4
#define QUOTED_SIZE 8 /* of the message: RFC 792 */

bool echo_read(const uint8_t *bytes, size_t length, struct echo *ret_echo)
{
    struct iphdr ip;
    if (length < sizeof(ip))
        return false;
    memcpy(&ip, bytes, sizeof(ip));
    size_t ip_length = ip.ihl * 4U;
    if (ip.version != 4 || ip_length < sizeof(ip) || ip.protocol != IPPROTO_ICMP ||
        (ntohs(ip.frag_off) & (IP_MF | IP_OFFMASK)) != 0 || ntohs(ip.tot_len) != length ||
        length < ip_length + ECHO_HEADER_SIZE || length - ip_length > ECHO_MESSAGE_MAX)
        return false;
    const uint8_t *message = bytes + ip_length;
    if (message[0] != ICMP_ECHO || message[1] != 0)
        return false;
    *ret_echo =
        (struct echo){.source = ip.saddr, .destination = ip.daddr, .length = length - ip_length};
    memcpy(&ret_echo->id, message + ID_AT, sizeof(ret_echo->id));
    memcpy(ret_echo->message, message, ret_echo->length);
    return true;
}

void echo_quote(const uint8_t *bytes, const struct echo *echo, struct segment *ret_segment)
{
    struct iphdr ip;
    memcpy(&ip, bytes, sizeof(ip));
    *ret_segment = (struct segment){
        .source = echo->source,
        .destination = echo->destination,
        .length = ip.ihl * 4U + QUOTED_SIZE,
    };
    memcpy(ret_segment->bytes, bytes, ret_segment->length);
}

size_t echo_write_reply(const struct echo *request, const uint8_t *message, size_t length,
                        uint8_t packet[ECHO_PACKET_MAX])
{
    const struct iphdr ip = {
        .version = 4,
        .ihl = sizeof(ip) / 4,
        .tot_len = htons((uint16_t)(sizeof(ip) + length)),
        .ttl = TIME_TO_LIVE,
        .protocol = IPPROTO_ICMP,
        .saddr = request->destination,
        .daddr = request->source,
    };
    uint8_t *reply = packet + sizeof(ip);
    memcpy(packet, &ip, sizeof(ip));
    memcpy(reply, message, length);
    reply[0] = ICMP_ECHOREPLY;
    memset(reply + 1, 0, 3); /* code and checksum */
    memcpy(reply + ID_AT, &request->id, sizeof(request->id));
    uint16_t sum = internet_checksum(reply, length);
    memcpy(reply + 2, &sum, sizeof(sum));
    return sizeof(ip) + length;
}
