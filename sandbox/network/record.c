#include "sandbox/network/record.h"

#include "sandbox/network/address.h"

#include <stdio.h>
#include <string.h>

/* Ahead of the entries, which are sent without the unused ones. */
#define HEADER_SIZE offsetof(struct network_record, hosts)

/* NULL: no more fit. */
static struct record_host *host_of(struct network_record *record, const char *host, uint16_t port)
{
    for (size_t i = 0; i < record->host_count; i++) {
        struct record_host *known = &record->hosts[i];
        if (known->port == port && strcmp(known->host, host) == 0)
            return known;
    }
    if (record->host_count == RECORD_HOSTS_MAX) {
        record->is_cut = 1;
        return NULL;
    }
    struct record_host *added = &record->hosts[record->host_count++];
    *added = (struct record_host){.port = port};
    snprintf(added->host, sizeof(added->host), "%s", host);
    return added;
}

/* A sum that is too large stays the largest. */
static void add(uint64_t *sum, uint64_t number)
{
    if (__builtin_add_overflow(*sum, number, sum))
        *sum = UINT64_MAX;
}

static void add_number(uint32_t *sum, uint32_t number)
{
    if (__builtin_add_overflow(*sum, number, sum))
        *sum = UINT32_MAX;
}

void record_add_host(struct network_record *record, const char *host, uint16_t port)
{
    host_of(record, host, port);
}

void record_add_stream(struct network_record *record, const char *host, uint16_t port)
{
    struct record_host *known = host_of(record, host, port);
    if (known != NULL)
        add_number(&known->streams, 1);
}

void record_add_bytes(struct network_record *record, const char *host, uint16_t port,
                      uint64_t received, uint64_t sent)
{
    struct record_host *known = host_of(record, host, port);
    if (known == NULL)
        return;
    add(&known->received, received);
    add(&known->sent, sent);
}

void record_add_question(struct network_record *record, uint64_t sent)
{
    add_number(&record->dns_questions, 1);
    add(&record->dns_sent, sent);
}

void record_add_answer(struct network_record *record, uint64_t received)
{
    add(&record->dns_received, received);
}

static void refuse(struct network_record *record, const struct record_refusal *refusal)
{
    for (size_t i = 0; i < record->refusal_count; i++) {
        struct record_refusal *known = &record->refusals[i];
        if (known->port == refusal->port && known->reason == refusal->reason &&
            strcmp(known->host, refusal->host) == 0) {
            add_number(&known->times, refusal->times);
            return;
        }
    }
    if (record->refusal_count == RECORD_REFUSALS_MAX)
        record->is_cut = 1;
    else
        record->refusals[record->refusal_count++] = *refusal;
}

void record_refuse(struct network_record *record, const char *host, uint16_t port,
                   enum refusal refusal)
{
    struct record_refusal added = {.port = port, .reason = (uint16_t)refusal, .times = 1};
    snprintf(added.host, sizeof(added.host), "%s", host);
    refuse(record, &added);
}

void record_add(struct network_record *record, const struct network_record *other)
{
    record->is_cut |= other->is_cut;
    record->is_lost |= other->is_lost;
    record->is_plain |= other->is_plain;
    add_number(&record->dns_questions, other->dns_questions);
    add(&record->dns_received, other->dns_received);
    add(&record->dns_sent, other->dns_sent);
    for (size_t i = 0; i < other->host_count; i++) {
        const struct record_host *host = &other->hosts[i];
        struct record_host *known = host_of(record, host->host, host->port);
        record_add_bytes(record, host->host, host->port, host->received, host->sent);
        if (known != NULL)
            add_number(&known->streams, host->streams);
    }
    for (size_t i = 0; i < other->refusal_count; i++)
        refuse(record, &other->refusals[i]);
}

size_t record_write(const struct network_record *record, uint8_t bytes[RECORD_BYTES_MAX])
{
    size_t hosts = record->host_count * sizeof(record->hosts[0]);
    size_t refusals = record->refusal_count * sizeof(record->refusals[0]);
    memcpy(bytes, record, HEADER_SIZE);
    memcpy(bytes + HEADER_SIZE, record->hosts, hosts);
    memcpy(bytes + HEADER_SIZE + hosts, record->refusals, refusals);
    return HEADER_SIZE + hosts + refusals;
}

/* A canonical name or an address, and so safe to show. */
static bool is_host(const char host[HOST_NAME_SIZE])
{
    char name[HOST_NAME_SIZE];
    struct address address;
    if (memchr(host, '\0', HOST_NAME_SIZE) == NULL)
        return false;
    return address_parse(host, &address) ||
           (host_name_read(host, strlen(host), name) && strcmp(host, name) == 0);
}

bool record_read(const uint8_t *bytes, size_t length, struct network_record *ret_record)
{
    *ret_record = (struct network_record){0};
    if (length < HEADER_SIZE)
        return false;
    memcpy(ret_record, bytes, HEADER_SIZE);
    size_t hosts = ret_record->host_count;
    size_t refusals = ret_record->refusal_count;
    if (hosts > RECORD_HOSTS_MAX || refusals > RECORD_REFUSALS_MAX)
        return false;
    hosts *= sizeof(ret_record->hosts[0]);
    refusals *= sizeof(ret_record->refusals[0]);
    if (length != HEADER_SIZE + hosts + refusals)
        return false;
    memcpy(ret_record->hosts, bytes + HEADER_SIZE, hosts);
    memcpy(ret_record->refusals, bytes + HEADER_SIZE + hosts, refusals);
    for (size_t i = 0; i < ret_record->host_count; i++) {
        if (!is_host(ret_record->hosts[i].host))
            return false;
    }
    for (size_t i = 0; i < ret_record->refusal_count; i++) {
        const struct record_refusal *refusal = &ret_record->refusals[i];
        if (!is_host(refusal->host) || refusal->reason == REFUSAL_NONE ||
            refusal->reason >= REFUSAL_COUNT)
            return false;
    }
    return true;
}
