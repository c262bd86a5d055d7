/* Packets that open connections: any bytes; and the answers, whose checksums are right. */
#include "sandbox/network/broker/segment.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Of words in network order; 0xffff for bytes with a right checksum in them. */
static uint32_t sum_of(uint32_t sum, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static void check_tcp(const uint8_t *packet, size_t length)
{
    size_t header = (packet[0] & 15) * 4U;
    uint32_t sum = sum_of(6 + (uint32_t)(length - header), packet + 12, 8);
    FUZZ_CHECK(sum_of(sum, packet + header, length - header) == 0xffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment segment;
    uint8_t reset[SEGMENT_RESET_SIZE];
    uint8_t unreachable[SEGMENT_UNREACHABLE_SIZE];
    if (!segment_read(data, size, &segment))
        return 0;
    FUZZ_CHECK(segment.length >= 40 && segment.length <= SEGMENT_MAX && segment.length <= size);
    FUZZ_CHECK(memcmp(segment.bytes, data, segment.length) == 0);
    segment_write_reset(&segment, reset);
    check_tcp(reset, sizeof(reset));
    FUZZ_CHECK(memcmp(reset + 12, data + 16, 4) == 0 && memcmp(reset + 16, data + 12, 4) == 0);
    segment_write_unreachable(&segment, UNREACHABLE_PROHIBITED, unreachable);
    FUZZ_CHECK(sum_of(0, unreachable + 20, sizeof(unreachable) - 20) == 0xffff);
    segment_seal(&segment);
    check_tcp(segment.bytes, segment.length);
    FUZZ_CHECK((size_t)(segment.bytes[2] << 8 | segment.bytes[3]) == segment.length);
    return 0;
}
