/* Makes first messages of TLS, well-formed and not, for tests. */
#ifndef TESTS_UNIT_HELLO_H
#define TESTS_UNIT_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MESSAGE_MAX 65536

/* Zeros are those of an ordinary hello. */
struct hello {
    const char *name;
    bool is_nameless;   /* no extension for it */
    bool is_twice;      /* the name */
    uint16_t version;
    uint16_t record_version;
    uint16_t extension; /* another, empty one */
    size_t padding;     /* of an extension for it */
    size_t record;      /* bytes of each record; 0: one record */
    uint8_t type;       /* of the message */
    size_t behind;      /* bytes in the last record that are not of the message */
};

static size_t put(uint8_t *bytes, size_t at, size_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[at + i] = (uint8_t)(number >> 8 * (size - 1 - i));
    return at + size;
}

static size_t put_name(uint8_t *bytes, size_t at, const char *name)
{
    size_t length = strlen(name);
    at = put(bytes, at, 0, 2);
    at = put(bytes, at, length + 5, 2);
    at = put(bytes, at, length + 3, 2);
    at = put(bytes, at, 0, 1);
    at = put(bytes, at, length, 2);
    memcpy(bytes + at, name, length);
    return at + length;
}

static size_t put_message(uint8_t *bytes, const struct hello *hello)
{
    size_t at = put(bytes, 0, (hello->type != 0 ? hello->type : 1U) << 24, 4);
    at = put(bytes, at, hello->version != 0 ? hello->version : 0x0303, 2);
    memset(bytes + at, 0xab, 32);
    at = put(bytes, at + 32, 0, 1);
    at = put(bytes, at, 2, 2);
    at = put(bytes, at, 0x1301, 2);
    at = put(bytes, at, 0x0100, 2);
    size_t extensions = at;
    at += 2;
    for (int i = 0; !hello->is_nameless && i <= hello->is_twice; i++)
        at = put_name(bytes, at, hello->name != NULL ? hello->name : "good.example");
    if (hello->extension != 0) {
        at = put(bytes, at, hello->extension, 2);
        at = put(bytes, at, 0, 2);
    }
    if (hello->padding > 0) {
        at = put(bytes, at, 21, 2);
        at = put(bytes, at, hello->padding, 2);
        memset(bytes + at, 0, hello->padding);
        at += hello->padding;
    }
    put(bytes, extensions, at - extensions - 2, 2);
    put(bytes, 1, at - 4, 3);
    return at;
}

static inline size_t put_hello(uint8_t *bytes, const struct hello *hello)
{
    static uint8_t message[MESSAGE_MAX];
    size_t length = put_message(message, hello) + hello->behind;
    size_t record = hello->record != 0 ? hello->record : length;
    size_t at = 0;
    for (size_t taken = 0; taken < length;) {
        size_t size = length - taken < record ? length - taken : record;
        at = put(bytes, at, 22, 1);
        at = put(bytes, at, hello->record_version != 0 ? hello->record_version : 0x0301, 2);
        at = put(bytes, at, size, 2);
        memcpy(bytes + at, message + taken, size);
        at += size;
        taken += size;
    }
    return at;
}

/* A ServerHello; of a retry. */
static inline size_t put_answer(uint8_t *bytes, bool is_retry)
{
    static const uint8_t retry[] = {
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
        0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
        0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
    };
    size_t at = put(bytes, 0, 22, 1);
    at = put(bytes, at, 0x0303, 2);
    at = put(bytes, at, 60, 2);
    at = put(bytes, at, 2 << 24 | 56, 4);
    at = put(bytes, at, 0x0303, 2);
    memset(bytes + at, 7, 100);
    if (is_retry)
        memcpy(bytes + at, retry, sizeof(retry));
    return 65;
}

#endif
