/* Packets of ping: any bytes; and the answers, whose checksums are right. */
#include "sandbox/network/broker/echo.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Of words in network order; 0xffff for bytes with a right checksum in them. */
static uint32_t sum_of(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct echo echo;
    struct segment quoted;
    uint8_t packet[ECHO_PACKET_MAX];
    uint8_t unreachable[SEGMENT_UNREACHABLE_SIZE];
    if (!echo_read(data, size, &echo))
        return 0;
    FUZZ_CHECK(echo.length >= ECHO_HEADER_SIZE && echo.length <= ECHO_MESSAGE_MAX);
    FUZZ_CHECK(memcmp(echo.message, data + size - echo.length, echo.length) == 0);
    size_t length = echo_write_reply(&echo, echo.message, echo.length, packet);
    FUZZ_CHECK(length == 20 + echo.length && packet[20] == 0);
    FUZZ_CHECK(sum_of(packet + 20, echo.length) == 0xffff);
    FUZZ_CHECK(memcmp(packet + 12, data + 16, 4) == 0 && memcmp(packet + 16, data + 12, 4) == 0);
    FUZZ_CHECK(memcmp(packet + 24, echo.message + 4, echo.length - 4) == 0);
    echo_quote(data, &echo, &quoted);
    segment_write_unreachable(&quoted, UNREACHABLE_PROHIBITED, unreachable);
    FUZZ_CHECK(sum_of(unreachable + 20, sizeof(unreachable) - 20) == 0xffff);
    return 0;
}
