/*
 * Answers of DNS servers, for a jail: reads them, and writes anew what of them is known to be harmless.
 *
 * An answer keeps the records of the asked type, of the types NS, CNAME, SOA, PTR, MX, TXT, SRV and CAA, and
 * the CNAME records that lead to them. It keeps no addresses: those of a name are judged one by one, and
 * asked for by resolver_find(). Of IPv6 there is none in a jail, and HTTPS and SVCB records would bring further
 * addresses and keys.
 *
 * Side: the broker, which trusts no server. Source: RFC 1035, 3.3 and 4.1; RFC 2782 (SRV); RFC 8659 (CAA).
 */
#ifndef SANDBOX_NETWORK_BROKER_DNS_ANSWER_H
#define SANDBOX_NETWORK_BROKER_DNS_ANSWER_H

#include "sandbox/network/broker/aliases.h"
#include "sandbox/network/broker/dns_message.h"

/* Whether records of this type may be passed on. */
bool dns_answer_has_type(unsigned type);

enum dns_adoption {
    DNS_ADOPTED,
    DNS_CUT,      /* it does not fit: the client may ask by TCP */
    DNS_UNUSABLE, /* no answer to this question, one that failed, or not well-formed */
};

struct dns_adopted {
    uint8_t bytes[DNS_MESSAGE_MAX];
    size_t length;
    struct aliases aliases; /* the names that CNAME records lead to, still to be judged */
};

/* Makes it an answer to this question, which must be the one that the server was asked. */
enum dns_adoption dns_answer_adopt(const struct dns_question *question, const uint8_t *answer,
                                   size_t length, struct dns_adopted *ret_adopted);

#endif
