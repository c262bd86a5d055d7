#include "tests/fuzz/tar-mend.h"

#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define SIZE_AT 124 /* 12 bytes, octal */
#define CHECKSUM_AT 148
#define CHECKSUM_BYTES 8

static void mend_header(uint8_t *header)
{
    unsigned sum = 0;
    memset(header + CHECKSUM_AT, ' ', CHECKSUM_BYTES);
    for (size_t i = 0; i < BLOCK; i++)
        sum += header[i];
    char text[CHECKSUM_BYTES];
    snprintf(text, sizeof(text), "%06o", sum);
    memcpy(header + CHECKSUM_AT, text, CHECKSUM_BYTES - 1);
}

static size_t body_size(const uint8_t *header)
{
    char digits[13] = "";
    memcpy(digits, header + SIZE_AT, 12);
    size_t size = strtoull(digits, NULL, 8);
    return (size + BLOCK - 1) / BLOCK * BLOCK;
}

uint8_t *tar_mend(const uint8_t *data, size_t size)
{
    static const uint8_t nothing[BLOCK];
    uint8_t *copy = calloc(1, size + 1);
    FUZZ_CHECK(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    for (size_t at = 0; at <= size && size - at >= BLOCK;) {
        uint8_t *header = copy + at;
        at += BLOCK;
        if (memcmp(header, nothing, BLOCK) == 0)
            continue;
        mend_header(header);
        size_t body = body_size(header);
        if (body > size)
            break;
        at += body;
    }
    return copy;
}
