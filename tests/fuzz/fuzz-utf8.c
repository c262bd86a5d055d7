/*
 * utf8_step() against a decoder of numbers, and D93b by trying: what it calls a maximal ill-formed
 * part begins a well-formed sequence, and with the next byte no longer does. Any bytes, written as a
 * JSON string, are read back with one U+FFFD for each such part.
 */
#include "tests/fuzz/fuzz.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <string.h>

#define TEXT_MAX (64 << 20)

/* The length of the well-formed sequence at `data`, 0 when there is none. */
static size_t decode(const uint8_t *data, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (size > 0 && data[0] < 0x80)
        return 1;
    size_t length = size == 0            ? 0
                    : data[0] >> 5 == 6  ? 2
                    : data[0] >> 4 == 14 ? 3
                    : data[0] >> 3 == 30 ? 4
                                         : 0;
    if (length == 0 || length > size)
        return 0;
    uint32_t point = data[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if (data[i] >> 6 != 2)
            return 0;
        point = point << 6 | (data[i] & 0x3f);
    }
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= least[length] && point <= 0x10ffff && !is_surrogate ? length : 0;
}

/* Whether some bytes more would make a well-formed sequence of all of these. */
static bool begins_sequence(const uint8_t *data, size_t size)
{
    for (size_t length = size + 1; length <= 4; length++) {
        uint8_t bytes[4];
        memcpy(bytes, data, size);
        /* Of the bytes that may follow a lead byte, the least or the greatest always may. */
        memset(bytes + size, 0x80, length - size);
        if (decode(bytes, length) == length)
            return true;
        memset(bytes + size, 0xbf, length - size);
        if (decode(bytes, length) == length)
            return true;
    }
    return false;
}

static void check_step(const uint8_t *data, size_t size, size_t step, bool valid)
{
    size_t length = decode(data, size);
    FUZZ_CHECK(step >= 1 && step <= size);
    FUZZ_CHECK(valid == (length > 0));
    if (valid) {
        FUZZ_CHECK(step == length);
        return;
    }
    FUZZ_CHECK(step <= 3);
    FUZZ_CHECK(step == 1 || begins_sequence(data, step));
    if (begins_sequence(data, step) && step < size)
        FUZZ_CHECK(!begins_sequence(data, step + 1) && decode(data, step + 1) == 0);
}

static void append(struct buffer *buffer, const void *data, size_t length)
{
    FUZZ_CHECK(buffer_append(buffer, data, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(buffer_release) struct buffer expected = BUFFER(TEXT_MAX);
    size_t position = 0;
    size_t first_invalid = size;
    while (position < size) {
        bool valid = false;
        size_t step = utf8_step((const char *)data + position, size - position, &valid);
        check_step(data + position, size - position, step, valid);
        if (valid)
            append(&expected, data + position, step);
        else
            append(&expected, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
        if (!valid && first_invalid == size)
            first_invalid = position;
        position += step;
    }
    FUZZ_CHECK(utf8_valid_length((const char *)data, size) == first_invalid);

    OWNED(buffer_release) struct buffer text = BUFFER(TEXT_MAX);
    struct json_writer *writer = NULL;
    FUZZ_CHECK(json_writer_open(&text, &writer) == 0);
    json_string(writer, (const char *)data, size);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    OWNED(json_release) struct json *json = fuzz_parse(&text);
    const struct json_value *value = json_root(json);
    FUZZ_CHECK(value->type == JSON_STRING && value->length == expected.length);
    FUZZ_CHECK(expected.length == 0 || memcmp(value->text, expected.data, expected.length) == 0);
    return 0;
}
