/* Answers the DNS questions of a jail. */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/owned.h"
#include "sandbox/network/broker/dns_answer.h"
#include "sandbox/network/broker/dns_message.h"
#include "sandbox/network/link.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#define READS_MAX 16 /* questions taken at a time */
#define QUESTION_SIZE_MAX 1500

/* A client that waits for an answer. */
struct question {
    struct broker_jail *jail;
    struct question *next;
    struct lookup *lookup; /* of jail.other_questions */
    struct dns_stream *stream; /* NULL: by UDP, from this client */
    struct sockaddr_in client;
    struct in_addr server; /* the address that was asked, and answers */
    struct dns_question dns;
};

static void send_datagram(const struct question *question, const uint8_t *bytes, size_t length)
{
    struct iovec data = {(void *)bytes, length};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = {0};
    struct msghdr message = {
        .msg_name = (void *)&question->client,
        .msg_namelen = sizeof(question->client),
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    const struct in_pktinfo info = {.ipi_spec_dst = question->server};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof(info));
    memcpy(CMSG_DATA(header), &info, sizeof(info));
    /* As on any network, an answer may be lost. */
    sendmsg(question->jail->dns.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_answer(const struct question *question, const uint8_t *bytes, size_t length)
{
    if (question->stream != NULL)
        dns_stream_answer(question->stream, bytes, length);
    else
        send_datagram(question, bytes, length);
}

static void answer(const struct question *question, enum dns_rcode rcode, const uint32_t *ipv4,
                   size_t count, uint32_t ttl)
{
    uint8_t bytes[DNS_MESSAGE_MAX];
    const struct dns_answer answer = {
        .rcode = rcode,
        .is_prohibited = rcode == DNS_NO_NAME,
        .ttl = ttl,
        .ipv4 = ipv4,
        .count = count,
    };
    send_answer(question, bytes, dns_answer_write(&question->dns, &answer, bytes));
}

static void answer_without_records(const struct question *question, enum dns_rcode rcode)
{
    answer(question, rcode, NULL, 0, 0);
}

static void answer_truncated(const struct question *question)
{
    uint8_t bytes[DNS_MESSAGE_MAX];
    const struct dns_answer answer = {.rcode = DNS_OK, .is_truncated = true};
    send_answer(question, bytes, dns_answer_write(&question->dns, &answer, bytes));
}

static void question_free(struct question *question)
{
    if (question->stream != NULL)
        dns_stream_expect(question->stream, NULL);
    question->jail->question_count--;
    lookup_cancel(question->lookup);
    free(question);
}

/* All that wait for addresses of the name. */
static void answer_all(struct name *name, enum dns_rcode rcode, uint32_t ttl)
{
    while (name->questions != NULL) {
        struct question *question = name->questions;
        name->questions = question->next;
        bool is_ipv4 = question->dns.type == DNS_A;
        answer(question, rcode, name->given, is_ipv4 ? name->given_count : 0, ttl);
        question_free(question);
    }
}

/* The addresses that may be dialled at some port. The refusal of the last one that may not be. */
static enum refusal judge(const struct policy *policy, const struct lookup *lookup,
                          struct address *judged, size_t *ret_count)
{
    enum refusal refusal = REFUSAL_NONE;
    size_t count = 0;
    for (size_t i = 0; i < lookup->address_count; i++) {
        const struct policy_verdict verdict =
            policy_judge_address(policy, true, &lookup->addresses[i], 0);
        if (verdict.refusal == REFUSAL_NONE)
            judged[count++] = lookup->addresses[i];
        else
            refusal = verdict.refusal;
    }
    *ret_count = count;
    return count > 0 ? REFUSAL_NONE : refusal;
}

/* Whether a DNS server may be asked another question. */
static bool may_ask(struct broker_jail *jail, const char *name)
{
    bool may =
        jail->asked_count < JAIL_ASKED_MAX && jail->moved_bytes < jail->broker->policy.byte_limit;
    if (!may)
        record_refuse(&jail->record, name, 0, REFUSAL_LIMIT);
    return may;
}

static void count_question(struct broker_jail *jail, const char *name)
{
    uint64_t size = dns_question_size(name);
    jail->asked_count++;
    jail->moved_bytes += size;
    record_add_question(&jail->record, size);
}

static void count_answer(struct broker_jail *jail, uint64_t size)
{
    jail->moved_bytes += size;
    record_add_answer(&jail->record, size);
}

/* c-ares does not tell how long the answers were: at least so many bytes. */
static void count_found(struct broker_jail *jail, const struct lookup *lookup)
{
    uint64_t size = dns_question_size(lookup->name);
    for (size_t i = 0; i < lookup->aliases.count; i++)
        size += DNS_RECORD_SIZE + strlen(lookup->aliases.list[i]);
    count_answer(jail, size + lookup->received_count * (DNS_RECORD_SIZE + sizeof(uint32_t)));
    if (lookup->asked_ipv6)
        count_question(jail, lookup->name);
}

static uint32_t ttl_of(const struct name *name)
{
    int64_t left = (name->fresh_until - clock_now()) / NANOSECONDS_PER_SECOND;
    return left > 0 ? (uint32_t)left : 0;
}

static void on_found(struct lookup *lookup, enum lookup_status status)
{
    struct broker_jail *jail = lookup->data;
    struct name *name = name_table_get(&jail->names, lookup->name); /* it is there */
    struct address judged[NAME_ADDRESSES_MAX];
    size_t count = 0;
    name->given_count = 0;
    count_found(jail, lookup);
    if (status == LOOKUP_FAILED) {
        answer_all(name, DNS_SERVER_FAILURE, 0);
        return;
    }
    name->denied = (struct policy_ports){0};
    enum refusal refusal = aliases_judge(&lookup->aliases, &jail->broker->policy, &name->denied);
    if (refusal == REFUSAL_NONE)
        refusal = judge(&jail->broker->policy, lookup, judged, &count);
    if (refusal != REFUSAL_NONE)
        record_refuse(&jail->record, name->text, 0, refusal);
    if (name_table_set(&jail->names, name, judged, count, false) < 0) {
        name->given_count = 0;
        answer_all(name, DNS_SERVER_FAILURE, 0);
        return;
    }
    bool has_no_name = status == LOOKUP_NO_NAME || refusal != REFUSAL_NONE;
    if (count > 0)
        name->fresh_until = clock_now() + lookup->ttl * NANOSECONDS_PER_SECOND;
    answer_all(name, has_no_name ? DNS_NO_NAME : DNS_OK, lookup->ttl);
}

static void look_up(struct broker_jail *jail, struct name *name)
{
    if (!may_ask(jail, name->text)) {
        answer_all(name, DNS_SERVER_FAILURE, 0);
        return;
    }
    count_question(jail, name->text);
    if (resolver_find(jail_resolver(jail), name->text, &name->lookup, on_found, jail) < 0)
        answer_all(name, DNS_SERVER_FAILURE, 0);
}

/* Takes the question over. */
static void ask_addresses(struct broker_jail *jail, struct question *question)
{
    struct broker *broker = jail->broker;
    struct name *name = name_table_get(&jail->names, question->dns.name);
    if (name == NULL) {
        record_refuse(&jail->record, question->dns.name, 0, REFUSAL_LIMIT);
        answer_without_records(question, DNS_SERVER_FAILURE);
        question_free(question);
        return;
    }
    /* The proxy resolves names itself, and this machine may not be able to. */
    bool is_led = policy_has_map(&broker->policy, name->text) ||
                  policy_is_proxied(&broker->policy, name->text, NULL);
    if (is_led && name->given_count == 0)
        name_table_set(&jail->names, name, NULL, 0, true);
    question->next = name->questions;
    name->questions = question;
    if (is_led)
        answer_all(name, name->given_count > 0 ? DNS_OK : DNS_SERVER_FAILURE, NAME_TTL_MAX_S);
    else if (name->given_count > 0 && clock_now() < name->fresh_until)
        answer_all(name, DNS_OK, ttl_of(name));
    else if (name->lookup == NULL)
        look_up(jail, name);
}

/* Sends the answer, if no name that it leads to is denied. */
static void send_adopted(const struct question *question, const struct dns_adopted *adopted)
{
    struct broker_jail *jail = question->jail;
    struct policy_ports denied = {0}; /* others of its ports may be reached */
    enum refusal refusal = aliases_judge(&adopted->aliases, &jail->broker->policy, &denied);
    if (refusal == REFUSAL_NONE) {
        send_answer(question, adopted->bytes, adopted->length);
        return;
    }
    record_refuse(&jail->record, question->dns.name, 0, refusal);
    answer_without_records(question, DNS_NO_NAME);
}

static void on_answered(struct lookup *lookup, const uint8_t *bytes, size_t length)
{
    struct question *question = lookup->data;
    struct dns_adopted adopted;
    count_answer(question->jail, length);
    enum dns_adoption adoption = dns_answer_adopt(&question->dns, bytes, length, &adopted);
    if (adoption == DNS_ADOPTED)
        send_adopted(question, &adopted);
    else if (adoption == DNS_CUT && question->stream == NULL)
        answer_truncated(question);
    else
        answer_without_records(question, DNS_SERVER_FAILURE);
    struct question **place = &question->jail->other_questions;
    while (*place != question)
        place = &(*place)->next;
    *place = question->next;
    question_free(question);
}

/* The same for records of another type. */
static void ask_others(struct broker_jail *jail, struct question *question)
{
    question->next = jail->other_questions;
    jail->other_questions = question;
    int r = -EDQUOT;
    if (may_ask(jail, question->dns.name)) {
        count_question(jail, question->dns.name);
        r = resolver_ask(jail_resolver(jail), question->dns.name, question->dns.type,
                         &question->lookup, on_answered, question);
    }
    if (r == 0)
        return;
    answer_without_records(question, DNS_SERVER_FAILURE);
    jail->other_questions = question->next;
    question_free(question);
}

/* Answers at once, or keeps a copy of the question. */
static void take_question(struct broker_jail *jail, const struct question *asked)
{
    const struct dns_question *dns = &asked->dns;
    /* There is no IPv6, but a client that asks for both must hear of a failure twice, or it sees none. */
    bool is_address = (dns->type == DNS_A || dns->type == DNS_AAAA) && dns->class == DNS_CLASS_IN;
    if (host_name_is_local(dns->name) || strcmp(dns->name, LINK_JAIL_NAME) == 0) {
        const uint32_t loopback = htonl(INADDR_LOOPBACK);
        answer(asked, DNS_OK, &loopback, is_address && dns->type == DNS_A, NAME_TTL_MAX_S);
        return;
    }
    const struct policy_verdict verdict = policy_judge_name(&jail->broker->policy, dns->name);
    if (verdict.refusal != REFUSAL_NONE) {
        /* Many programs ask for the name of an address, and do without. */
        if (!host_name_is_below(dns->name, "arpa"))
            record_refuse(&jail->record, dns->name, 0, verdict.refusal);
        answer_without_records(asked, DNS_NO_NAME);
        return;
    }
    if (dns->class != DNS_CLASS_IN || (!is_address && !dns_answer_has_type(dns->type))) {
        answer_without_records(asked, DNS_OK);
        return;
    }
    if (jail->question_count == JAIL_QUESTIONS_MAX)
        return; /* the client asks again */
    struct question *question = malloc(sizeof(*question));
    if (question == NULL)
        return;
    *question = *asked;
    jail->question_count++;
    if (question->stream != NULL)
        dns_stream_expect(question->stream, question);
    if (is_address)
        ask_addresses(jail, question);
    else
        ask_others(jail, question);
}

static ssize_t receive(int fd, struct question *question, uint8_t *bytes, size_t size)
{
    struct iovec data = {bytes, size};
    _Alignas(struct cmsghdr) char control[256];
    struct msghdr message = {
        .msg_name = &question->client,
        .msg_namelen = sizeof(question->client),
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT);
    if (length < 0)
        return -errno;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL;
         header = CMSG_NXTHDR(&message, header)) {
        struct in_pktinfo info;
        if (header->cmsg_level != IPPROTO_IP || header->cmsg_type != IP_PKTINFO)
            continue;
        memcpy(&info, CMSG_DATA(header), sizeof(info));
        question->server = info.ipi_addr;
    }
    return length;
}

/* False: it is no question, and gets no answer. */
static bool take_message(struct question *asked, const uint8_t *bytes, size_t length)
{
    enum dns_reading reading = dns_question_read(bytes, length, &asked->dns);
    if (asked->stream != NULL)
        asked->dns.size_max = DNS_MESSAGE_MAX;
    if (reading == DNS_QUESTION)
        take_question(asked->jail, asked);
    else if (reading == DNS_WRONG)
        answer_without_records(asked, DNS_FORMAT_ERROR);
    return reading != DNS_NOTHING;
}

bool dns_take(struct broker_jail *jail, struct dns_stream *stream, const uint8_t *bytes,
              size_t length)
{
    struct question question = {.jail = jail, .stream = stream};
    return take_message(&question, bytes, length);
}

/* Of one without a stream the answer is sent to no address, and so to nobody. */
void dns_forget_stream(struct question *question)
{
    question->stream = NULL;
}

void dns_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct broker_jail *jail = container_of(watch, struct broker_jail, dns);
    uint8_t bytes[QUESTION_SIZE_MAX];
    for (int i = 0; i < READS_MAX; i++) {
        struct question question = {.jail = jail};
        ssize_t length = receive(watch->fd, &question, bytes, sizeof(bytes));
        if (length < 0)
            return;
        take_message(&question, bytes, (size_t)length);
    }
}

static void free_questions(struct question **list)
{
    while (*list != NULL) {
        struct question *question = *list;
        *list = question->next;
        question_free(question);
    }
}

void dns_release(struct broker_jail *jail)
{
    for (size_t i = 0; i < NAME_BUCKETS; i++) {
        for (struct name *name = jail->names.by_name[i]; name != NULL; name = name->next_of_name) {
            lookup_cancel(name->lookup);
            free_questions(&name->questions);
        }
    }
    free_questions(&jail->other_questions);
}
