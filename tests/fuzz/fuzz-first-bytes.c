/* The first bytes of a client: any; whole or in pieces, they come to the same, and the host is canonical. */
#include "sandbox/network/broker/first_bytes.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* In pieces of so many bytes. */
static enum first_bytes read_pieces(struct first_reader *reader, const uint8_t *data, size_t size,
                                    size_t piece)
{
    enum first_bytes result = FIRST_INCOMPLETE;
    for (size_t at = 0; at < size && result == FIRST_INCOMPLETE;) {
        at = size - at < piece ? size : at + piece;
        result = first_bytes_read(reader, data, at);
    }
    return result;
}

static void check(const struct first_reader *fresh, const uint8_t *data, size_t size)
{
    static const size_t pieces[] = {1, 7, 1000};
    char again[HOST_NAME_SIZE];
    struct first_reader whole = *fresh;
    enum first_bytes result = first_bytes_read(&whole, data, size);
    if (result == FIRST_HOST || result == FIRST_NAMELESS)
        FUZZ_CHECK(whole.length > 0 && whole.length <= size);
    if (result == FIRST_HOST)
        FUZZ_CHECK(host_name_read(whole.host, strlen(whole.host), again) &&
                   strcmp(whole.host, again) == 0);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct first_reader reader = *fresh;
        FUZZ_CHECK(read_pieces(&reader, data, size, pieces[i]) == result);
        if (result == FIRST_HOST)
            FUZZ_CHECK(strcmp(reader.host, whole.host) == 0 && reader.length == whole.length &&
                       reader.port == whole.port && reader.is_tunnel == whole.is_tunnel);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct first_reader first = {0};
    const struct first_reader retry = FIRST_READER_RETRY;
    struct server_hello hello = {0};
    struct server_hello slow = {0};
    check(&first, data, size);
    check(&retry, data, size);
    enum server_answer answer = server_hello_read(&hello, data, size);
    enum server_answer step = ANSWER_INCOMPLETE;
    for (size_t i = 0; i < size && step == ANSWER_INCOMPLETE; i++)
        step = server_hello_read(&slow, data + i, 1);
    FUZZ_CHECK(answer == step || size == 0);
    return 0;
}
