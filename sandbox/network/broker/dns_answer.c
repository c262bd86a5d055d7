#include "sandbox/network/broker/dns_answer.h"

#include "sandbox/base/owned.h"
#include "sandbox/network/broker/dns_wire.h"

#include <ctype.h>
#include <string.h>

#define RECORD_FIXED_SIZE 10 /* type, class, time to live and length */
#define QUESTION_FIXED_SIZE 4
#define NAME_POINTERS_MAX 64 /* of one name: a chain of them in each record would take long */
#define CAA_FIXED_SIZE 2 /* flags and the length of the tag */

/* A name on the wire, without pointers. */
struct wire_name {
    uint8_t bytes[DNS_WIRE_NAME_MAX];
    size_t length;
};

struct dns_record {
    struct wire_name owner;
    uint16_t type, class;
    uint32_t ttl;
    size_t data; /* where it is in the message */
    size_t data_length;
};

struct dns_message {
    const uint8_t *bytes;
    size_t length;
};

/* What is written. Too much sets `is_full`. */
struct dns_writer {
    uint8_t *bytes;
    size_t length, max;
    size_t records;
    bool is_full;
};

/* Types whose data has some bytes, names, and some bytes again. */
static const struct {
    uint16_t type;
    uint8_t before, names, after;
} layouts[] = {
    {DNS_NS, 0, 1, 0},   {DNS_CNAME, 0, 1, 0}, {DNS_PTR, 0, 1, 0},
    {DNS_SOA, 0, 2, 20}, {DNS_MX, 2, 1, 0},    {DNS_SRV, 6, 1, 0},
};

bool dns_answer_has_type(unsigned type)
{
    for (size_t i = 0; i < ARRAY_LENGTH(layouts); i++) {
        if (layouts[i].type == type)
            return true;
    }
    return type == DNS_TXT || type == DNS_CAA;
}

/*
 * Reads the name at *at, and moves *at behind it. Pointers must lead backwards, so that it ends, and be
 * few. False: it is none.
 */
static bool read_name(const struct dns_message *message, size_t *at, struct wire_name *ret_name)
{
    size_t position = *at;
    size_t before = *at; /* where a pointer must lead */
    size_t jumps = 0;
    ret_name->length = 0;
    while (position < message->length) {
        size_t label = message->bytes[position];
        if ((label & DNS_POINTER) == DNS_POINTER) {
            if (message->length - position < 2)
                return false;
            size_t target = dns_get16(message->bytes + position) & DNS_POINTER_TARGET;
            *at = jumps > 0 ? *at : position + 2;
            if (target >= before || ++jumps > NAME_POINTERS_MAX)
                return false;
            position = target;
            before = position;
            continue;
        }
        if (label > HOST_LABEL_MAX || label >= message->length - position ||
            ret_name->length + label + 1 > sizeof(ret_name->bytes))
            return false;
        memcpy(ret_name->bytes + ret_name->length, message->bytes + position, label + 1);
        ret_name->length += label + 1;
        position += label + 1;
        if (label == 0) {
            *at = jumps > 0 ? *at : position;
            return true;
        }
    }
    return false;
}

/* The lengths of labels are no letters. */
static bool is_same(const struct wire_name *one, const struct wire_name *other)
{
    if (one->length != other->length)
        return false;
    for (size_t i = 0; i < one->length; i++) {
        if (tolower(one->bytes[i]) != tolower(other->bytes[i]))
            return false;
    }
    return true;
}

/*
 * The name as text, for rules to be compared with: '_' stands for what no host's name has, such as the '/' in
 * the names of RFC 2317. The labels remain the same. "" for the root.
 */
static void to_text(const struct wire_name *name, char text[DNS_WIRE_NAME_MAX])
{
    size_t used = 0;
    for (size_t at = 0; name->bytes[at] != 0;) {
        size_t label = name->bytes[at++];
        if (used > 0)
            text[used++] = '.';
        for (size_t end = at + label; at < end; at++) {
            uint8_t c = name->bytes[at];
            text[used++] = isalnum(c) || c == '-' ? (char)c : '_';
        }
    }
    text[used] = '\0';
}

static bool read_record(const struct dns_message *message, size_t *at,
                        struct dns_record *ret_record)
{
    if (!read_name(message, at, &ret_record->owner) || message->length - *at < RECORD_FIXED_SIZE)
        return false;
    const uint8_t *fixed = message->bytes + *at;
    ret_record->type = dns_get16(fixed);
    ret_record->class = dns_get16(fixed + 2);
    ret_record->ttl = (uint32_t)dns_get16(fixed + 4) << 16 | dns_get16(fixed + 6);
    ret_record->data_length = dns_get16(fixed + 8);
    ret_record->data = *at + RECORD_FIXED_SIZE;
    if (ret_record->data_length > message->length - ret_record->data)
        return false;
    *at = ret_record->data + ret_record->data_length;
    return true;
}

static void put(struct dns_writer *writer, const uint8_t *bytes, size_t length)
{
    if (length > writer->max - writer->length) {
        writer->is_full = true;
        return;
    }
    memcpy(writer->bytes + writer->length, bytes, length);
    writer->length += length;
}

static void put16(struct dns_writer *writer, unsigned value)
{
    const uint8_t bytes[] = {(uint8_t)(value >> 8), (uint8_t)value};
    put(writer, bytes, sizeof(bytes));
}

/* Strings, each behind its length, to the end of the data. */
static bool are_strings(const uint8_t *data, size_t length)
{
    while (length > 0 && data[0] < length) {
        size_t size = (size_t)data[0] + 1;
        data += size;
        length -= size;
    }
    return length == 0;
}

static bool is_caa(const uint8_t *data, size_t length)
{
    if (length < CAA_FIXED_SIZE || data[1] == 0 || data[1] > length - CAA_FIXED_SIZE)
        return false;
    for (size_t i = 0; i < data[1]; i++) {
        if (!isalnum(data[CAA_FIXED_SIZE + i]))
            return false;
    }
    return true;
}

/* An address, written as the name of a host. */
static bool is_numeric(const struct wire_name *name)
{
    char text[DNS_WIRE_NAME_MAX];
    to_text(name, text);
    return text[0] != '\0' && host_name_is_numeric(text);
}

/* Data with names, which are written out. False: it is not well-formed, or names an address. */
static bool put_names(struct dns_writer *writer, const struct dns_message *message,
                      const struct dns_record *record, size_t layout)
{
    /* The names may point anywhere ahead, but must end with the data. */
    const struct dns_message until = {message->bytes, record->data + record->data_length};
    size_t at = record->data + layouts[layout].before;
    if (layouts[layout].before > record->data_length)
        return false;
    put(writer, message->bytes + record->data, layouts[layout].before);
    for (size_t i = 0; i < layouts[layout].names; i++) {
        struct wire_name name;
        if (!read_name(&until, &at, &name) || is_numeric(&name))
            return false;
        put(writer, name.bytes, name.length);
    }
    if (until.length - at != layouts[layout].after)
        return false;
    put(writer, message->bytes + at, layouts[layout].after);
    return true;
}

static bool put_data(struct dns_writer *writer, const struct dns_message *message,
                     const struct dns_record *record)
{
    const uint8_t *data = message->bytes + record->data;
    for (size_t i = 0; i < ARRAY_LENGTH(layouts); i++) {
        if (layouts[i].type == record->type)
            return put_names(writer, message, record, i);
    }
    bool is_known = record->type == DNS_TXT   ? are_strings(data, record->data_length)
                    : record->type == DNS_CAA ? is_caa(data, record->data_length)
                                              : false;
    if (is_known)
        put(writer, data, record->data_length);
    return is_known;
}

/* The owner is at `owner_at` of what is written. *ret_data_at: where its data is there. */
static bool put_record(struct dns_writer *writer, const struct dns_message *message,
                       const struct dns_record *record, size_t owner_at, size_t *ret_data_at)
{
    put16(writer, (unsigned)(DNS_POINTER << 8 | owner_at));
    put16(writer, record->type);
    put16(writer, record->class);
    put16(writer, record->ttl >> 16);
    put16(writer, record->ttl & 0xffff);
    size_t length_at = writer->length;
    put16(writer, 0);
    *ret_data_at = writer->length;
    if (!put_data(writer, message, record))
        return false;
    writer->records++;
    if (!writer->is_full)
        dns_put16(writer->bytes + length_at, (unsigned)(writer->length - *ret_data_at));
    return true;
}

/* The next record of that owner and type, of those that follow. 1: found; 0: none; -1: not well-formed. */
static int find_record(const struct dns_message *message, size_t *at, size_t *left,
                       const struct wire_name *owner, unsigned type, struct dns_record *ret_record)
{
    while (*left > 0) {
        (*left)--;
        if (!read_record(message, at, ret_record))
            return -1;
        if (ret_record->type == type && ret_record->class == DNS_CLASS_IN &&
            is_same(&ret_record->owner, owner))
            return 1;
    }
    return 0;
}

/* The records, at `at` of the message, and where the name of the question is. */
struct dns_records {
    struct dns_message message;
    size_t at;
    size_t count;
    struct wire_name owner; /* of what is looked for */
    size_t owner_at;
};

/* Follows CNAME records to the name that has the others. False: they are not well-formed, or too many. */
static bool put_aliases(struct dns_writer *writer, struct dns_records *records,
                        struct aliases *aliases)
{
    for (size_t hops = 0; hops <= NAME_ALIASES_MAX; hops++) {
        size_t at = records->at;
        size_t left = records->count;
        struct dns_record record;
        char text[DNS_WIRE_NAME_MAX];
        int r = find_record(&records->message, &at, &left, &records->owner, DNS_CNAME, &record);
        if (r <= 0)
            return r == 0;
        if (!put_record(writer, &records->message, &record, records->owner_at, &records->owner_at))
            return false;
        size_t target = record.data;
        read_name(&records->message, &target, &records->owner); /* it has been written */
        to_text(&records->owner, text);
        if (!aliases_add(aliases, text))
            return false;
    }
    return false;
}

static bool put_records(struct dns_writer *writer, const struct dns_records *records, unsigned type)
{
    size_t at = records->at;
    size_t left = records->count;
    struct dns_record record;
    size_t data_at;
    int r;
    do {
        r = find_record(&records->message, &at, &left, &records->owner, type, &record);
        if (r > 0 && !put_record(writer, &records->message, &record, records->owner_at, &data_at))
            return false;
    } while (r > 0);
    return r == 0;
}

/* Finds the records behind the question. False: it is no answer to this one. */
static bool read_head(const struct dns_question *question, struct dns_records *records)
{
    const struct dns_message asked = {question->wire, question->wire_length};
    const struct dns_message *message = &records->message;
    struct wire_name name;
    size_t at = 0;
    if (message->length < DNS_HEADER_SIZE || !read_name(&asked, &at, &records->owner))
        return false;
    unsigned flags = dns_get16(message->bytes + 2);
    at = DNS_HEADER_SIZE;
    if ((flags & DNS_FLAG_ANSWER) == 0 || (flags & DNS_FLAG_OPCODE) != 0 ||
        dns_get16(message->bytes + 4) != 1 || !read_name(message, &at, &name) ||
        !is_same(&name, &records->owner) || message->length - at < QUESTION_FIXED_SIZE ||
        dns_get16(message->bytes + at) != question->type ||
        dns_get16(message->bytes + at + 2) != question->class)
        return false;
    records->at = at + QUESTION_FIXED_SIZE;
    records->count = dns_get16(message->bytes + 6);
    records->owner_at = DNS_HEADER_SIZE;
    return true;
}

enum dns_adoption dns_answer_adopt(const struct dns_question *question, const uint8_t *answer,
                                   size_t length, struct dns_adopted *ret_adopted)
{
    struct dns_records records = {.message = {answer, length}};
    if (!dns_answer_has_type(question->type) || !read_head(question, &records))
        return DNS_UNUSABLE;
    unsigned flags = dns_get16(answer + 2);
    enum dns_rcode rcode = (enum dns_rcode)(flags & DNS_FLAGS_RCODE);
    if (rcode != DNS_OK && rcode != DNS_NO_NAME)
        return DNS_UNUSABLE;
    if ((flags & DNS_FLAG_TRUNCATED) != 0)
        return DNS_CUT;
    struct dns_adopted *adopted = ret_adopted;
    adopted->aliases.count = 0;
    adopted->length = dns_answer_begin(question, rcode, adopted->bytes);
    struct dns_writer writer = {.bytes = adopted->bytes,
                                .length = adopted->length,
                                .max =
                                    question->size_max - (question->has_edns ? DNS_EDNS_SIZE : 0)};
    /* A CNAME that is asked for is not followed. */
    if ((question->type != DNS_CNAME && !put_aliases(&writer, &records, &adopted->aliases)) ||
        !put_records(&writer, &records, question->type))
        return DNS_UNUSABLE;
    if (writer.is_full)
        return DNS_CUT;
    adopted->length = dns_answer_end(question, writer.records, writer.length, adopted->bytes);
    return DNS_ADOPTED;
}
