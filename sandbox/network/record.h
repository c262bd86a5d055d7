/*
 * The record of a run's network: the hosts that were reached, and what was refused.
 *
 * The broker keeps one for each jail and sends it as bytes; the server reads them as untrusted.
 *
 * Side: both.
 */
#ifndef SANDBOX_NETWORK_RECORD_H
#define SANDBOX_NETWORK_RECORD_H

#include "sandbox/network/host_name.h"
#include "sandbox/network/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_HOSTS_MAX 64
#define RECORD_REFUSALS_MAX 64

struct record_host {
    char host[HOST_NAME_SIZE]; /* a canonical name, or an address */
    uint16_t port;
    uint32_t streams;  /* opened outside, since the last record */
    uint64_t received; /* bytes, by the jail */
    uint64_t sent;
};

struct record_refusal {
    char host[HOST_NAME_SIZE];
    uint16_t port;   /* 0: a name was refused, before any port */
    uint16_t reason; /* enum refusal */
    uint32_t times;
};

struct network_record {
    uint32_t host_count;
    uint32_t refusal_count;
    uint32_t is_cut; /* there were more of either */
    uint32_t number; /* of the question that it answers: link.h */
    uint32_t is_lost; /* the broker did not answer: the rest is not known */
    uint32_t
        is_plain; /* the kernel has no routing rules: only ports that rules name, and the usual ones, are reached */
    uint32_t dns_questions; /* that DNS servers were asked for the jail */
    uint64_t dns_received; /* bytes of their answers */
    uint64_t dns_sent; /* bytes of the questions */
    struct record_host hosts[RECORD_HOSTS_MAX];
    struct record_refusal refusals[RECORD_REFUSALS_MAX];
};

/* Counts for this host and port; what no longer fits is dropped, and is_cut set. */
void record_add_host(struct network_record *record, const char *host, uint16_t port);
void record_add_stream(struct network_record *record, const char *host, uint16_t port);
void record_add_bytes(struct network_record *record, const char *host, uint16_t port,
                      uint64_t received, uint64_t sent);
void record_add_question(struct network_record *record, uint64_t sent);
void record_add_answer(struct network_record *record, uint64_t received);
void record_refuse(struct network_record *record, const char *host, uint16_t port,
                   enum refusal refusal);

/* What the other one has counts for this one, too. */
void record_add(struct network_record *record, const struct network_record *other);

/* The record as bytes of a message; at most RECORD_BYTES_MAX. Returns their number. */
#define RECORD_BYTES_MAX sizeof(struct network_record)
size_t record_write(const struct network_record *record, uint8_t bytes[RECORD_BYTES_MAX]);

/* False: these bytes are no record. */
bool record_read(const uint8_t *bytes, size_t length, struct network_record *ret_record);

#endif
