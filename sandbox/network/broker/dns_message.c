#include "sandbox/network/broker/dns_message.h"

#include "sandbox/network/broker/dns_wire.h"

#include <string.h>

#define LABEL_MAX 63
#define ANSWERS_AT 6 /* in the header: their number */
#define TYPE_OPT 41
#define OPTION_EXTENDED_ERROR 15
#define ADDRESS_RECORD_SIZE 16
#define POINTER_TO_QUESTION 0xc00c
#define EDNS_SIZE 1232 /* what we accept; nothing is sent to us but questions */

/* The length of the name on the wire, and its text with dots. 0: it is none, or points elsewhere. */
static size_t read_name(const uint8_t *bytes, size_t length, char text[HOST_NAME_SIZE],
                        size_t *ret_text_length)
{
    size_t at = 0;
    size_t used = 0;
    while (at < length && bytes[at] != 0) {
        size_t label = bytes[at++];
        bool is_first = used == 0;
        if (label > LABEL_MAX || label > length - at ||
            used + label + (is_first ? 0 : 1) > HOST_NAME_MAX_LENGTH)
            return 0;
        if (!is_first)
            text[used++] = '.';
        /* A dot inside a label would read as two labels. */
        if (memchr(bytes + at, '.', label) != NULL)
            return 0;
        memcpy(text + used, bytes + at, label);
        used += label;
        at += label;
    }
    *ret_text_length = used;
    return at < length ? at + 1 : 0;
}

/* Finds the OPT record, if the message has one behind the question, as stubs put it. */
static void read_edns(const uint8_t *bytes, size_t length, struct dns_question *question)
{
    bool is_opt = length >= 11 && bytes[0] == 0 && dns_get16(bytes + 1) == TYPE_OPT;
    if (!is_opt)
        return;
    size_t size = dns_get16(bytes + 3);
    question->has_edns = true;
    question->size_max = size < DNS_PLAIN_MAX     ? DNS_PLAIN_MAX
                         : size > DNS_MESSAGE_MAX ? DNS_MESSAGE_MAX
                                                  : size;
}

enum dns_reading dns_question_read(const uint8_t *bytes, size_t length,
                                   struct dns_question *ret_question)
{
    struct dns_question *question = ret_question;
    *question = (struct dns_question){.size_max = DNS_PLAIN_MAX};
    if (length < DNS_HEADER_SIZE || (dns_get16(bytes + 2) & DNS_FLAG_ANSWER) != 0)
        return DNS_NOTHING;
    question->id = dns_get16(bytes);
    question->flags = dns_get16(bytes + 2);
    if (dns_get16(bytes + 4) != 1 || (question->flags & DNS_FLAG_OPCODE) != 0)
        return DNS_WRONG;
    const uint8_t *rest = bytes + DNS_HEADER_SIZE;
    size_t left = length - DNS_HEADER_SIZE;
    char text[HOST_NAME_SIZE];
    size_t text_length = 0;
    size_t name_length = read_name(rest, left, text, &text_length);
    if (name_length == 0 || left - name_length < 4)
        return DNS_WRONG;
    question->wire_length = name_length + 4;
    memcpy(question->wire, rest, question->wire_length);
    question->type = dns_get16(rest + name_length);
    question->class = dns_get16(rest + name_length + 2);
    read_edns(rest + question->wire_length, left - question->wire_length, question);
    return host_name_read(text, text_length, question->name) ? DNS_QUESTION : DNS_WRONG;
}

static uint8_t *put_header(const struct dns_question *question, unsigned answer_flags,
                           size_t answers, size_t additional, uint8_t *at)
{
    unsigned flags = DNS_FLAG_ANSWER | (question->flags & DNS_FLAG_RECURSION_DESIRED) |
                     DNS_FLAG_RECURSION_AVAILABLE | answer_flags;
    at = dns_put16(at, question->id);
    at = dns_put16(at, flags);
    at = dns_put16(at, question->wire_length > 0);
    at = dns_put16(at, (unsigned)answers);
    at = dns_put16(at, 0);
    at = dns_put16(at, (unsigned)additional);
    memcpy(at, question->wire, question->wire_length);
    return at + question->wire_length;
}

static uint8_t *put_edns(uint8_t *at, bool prohibited)
{
    *at++ = 0;
    at = dns_put16(at, TYPE_OPT);
    at = dns_put16(at, EDNS_SIZE);
    at = dns_put32(at, 0);
    at = dns_put16(at, prohibited ? 6 : 0);
    if (prohibited)
        at = dns_put16(dns_put16(dns_put16(at, OPTION_EXTENDED_ERROR), 2), DNS_PROHIBITED);
    return at;
}

size_t dns_answer_write(const struct dns_question *question, const struct dns_answer *answer,
                        uint8_t bytes[DNS_MESSAGE_MAX])
{
    size_t fixed = DNS_HEADER_SIZE + question->wire_length + 17;
    size_t fitting = (DNS_PLAIN_MAX - fixed) / ADDRESS_RECORD_SIZE;
    size_t shown = answer->count < fitting ? answer->count : fitting;
    unsigned flags = (unsigned)answer->rcode | (answer->is_truncated ? DNS_FLAG_TRUNCATED : 0);
    uint8_t *at = put_header(question, flags, shown, question->has_edns, bytes);
    for (size_t i = 0; i < shown; i++) {
        at = dns_put16(at, POINTER_TO_QUESTION);
        at = dns_put16(at, DNS_A);
        at = dns_put16(at, DNS_CLASS_IN);
        at = dns_put32(at, answer->ttl);
        at = dns_put16(at, sizeof(answer->ipv4[i]));
        memcpy(at, &answer->ipv4[i], sizeof(answer->ipv4[i]));
        at += sizeof(answer->ipv4[i]);
    }
    if (question->has_edns)
        at = put_edns(at, answer->is_prohibited);
    return (size_t)(at - bytes);
}

size_t dns_answer_begin(const struct dns_question *question, enum dns_rcode rcode,
                        uint8_t bytes[DNS_MESSAGE_MAX])
{
    return (size_t)(put_header(question, (unsigned)rcode, 0, question->has_edns, bytes) - bytes);
}

size_t dns_answer_end(const struct dns_question *question, size_t records, size_t length,
                      uint8_t bytes[DNS_MESSAGE_MAX])
{
    dns_put16(bytes + ANSWERS_AT, (unsigned)records);
    return question->has_edns ? (size_t)(put_edns(bytes + length, false) - bytes) : length;
}
