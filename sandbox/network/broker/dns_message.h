/*
 * DNS messages: reads questions and composes answers.
 *
 * Side: the broker. Source: RFC 1035, 4; RFC 2181, 9; RFC 6891 (EDNS); RFC 8914 (extended errors).
 */
#ifndef SANDBOX_NETWORK_BROKER_DNS_MESSAGE_H
#define SANDBOX_NETWORK_BROKER_DNS_MESSAGE_H

#include "sandbox/network/host_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DNS_HEADER_SIZE 12
#define DNS_QUESTION_MAX (HOST_NAME_SIZE + 1 + 4) /* a name on the wire, its type and class */
#define DNS_MESSAGE_MAX 4096
#define DNS_PLAIN_MAX 512 /* of an answer to a client without EDNS */
#define DNS_EDNS_SIZE 11  /* of the record of EDNS, without options */

enum dns_type {
    DNS_A = 1,
    DNS_NS = 2,
    DNS_CNAME = 5,
    DNS_SOA = 6,
    DNS_PTR = 12,
    DNS_MX = 15,
    DNS_TXT = 16,
    DNS_AAAA = 28,
    DNS_SRV = 33,
    DNS_CAA = 257,
};

#define DNS_CLASS_IN 1

enum dns_rcode {
    DNS_OK = 0,
    DNS_FORMAT_ERROR = 1,
    DNS_SERVER_FAILURE = 2,
    DNS_NO_NAME = 3,
    DNS_NOT_IMPLEMENTED = 4
};

#define DNS_PROHIBITED 18 /* the extended error: RFC 8914, 4.19 */

struct dns_question {
    uint16_t id;
    uint16_t flags;
    uint16_t type;
    uint16_t class;
    char name[HOST_NAME_SIZE]; /* canonical */
    uint8_t wire[DNS_QUESTION_MAX]; /* as asked, to be repeated in the answer */
    size_t wire_length;
    bool has_edns;
    size_t size_max; /* of the answer */
};

#define DNS_RECORD_SIZE 12 /* with a pointer for its owner, without its data */

/* The bytes of a question for this canonical name, without EDNS. */
static inline size_t dns_question_size(const char *name)
{
    return DNS_HEADER_SIZE + strlen(name) + 2 + 4;
}

enum dns_reading {
    DNS_QUESTION,
    DNS_WRONG,   /* to be answered with DNS_FORMAT_ERROR */
    DNS_NOTHING, /* to be dropped: too short, or an answer itself */
};

enum dns_reading dns_question_read(const uint8_t *bytes, size_t length,
                                   struct dns_question *ret_question);

/* An answer with IPv4 addresses, or none. */
struct dns_answer {
    enum dns_rcode rcode;
    bool is_prohibited; /* explains DNS_NO_NAME to clients with EDNS */
    bool is_truncated;  /* the client asks again by TCP */
    uint32_t ttl;
    const uint32_t *ipv4; /* borrowed; network order */
    size_t count;
};

/* Composes the answer, with as many addresses as fit. Returns its length. */
size_t dns_answer_write(const struct dns_question *question, const struct dns_answer *answer,
                        uint8_t bytes[DNS_MESSAGE_MAX]);

/*
 * The same in parts, for records that the caller puts between them: the header with the question, of which the
 * length is returned; and, once there are `length` bytes, the end, of which at most DNS_EDNS_SIZE are added.
 */
size_t dns_answer_begin(const struct dns_question *question, enum dns_rcode rcode,
                        uint8_t bytes[DNS_MESSAGE_MAX]);
size_t dns_answer_end(const struct dns_question *question, size_t records, size_t length,
                      uint8_t bytes[DNS_MESSAGE_MAX]);

#endif
