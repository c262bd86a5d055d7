/* The first bytes of a client: any; the host that they name is canonical, and more bytes only add one. */
#include "sandbox/network/broker/first_bytes.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

typedef enum first_bytes reader(const uint8_t *bytes, size_t length, char ret_host[HOST_NAME_SIZE]);

static void check(reader *read, const uint8_t *data, size_t size)
{
    char host[HOST_NAME_SIZE] = "";
    char again[HOST_NAME_SIZE];
    enum first_bytes whole = read(data, size, host);
    if (whole == FIRST_HOST) {
        FUZZ_CHECK(host_name_read(host, strlen(host), again) && strcmp(host, again) == 0);
    }
    /* What is decided is decided, whatever follows. */
    enum first_bytes half = read(data, size / 2, again);
    if (half == FIRST_HOST)
        FUZZ_CHECK(whole == FIRST_HOST && strcmp(host, again) == 0);
    else if (half == FIRST_STRANGE)
        FUZZ_CHECK(whole == FIRST_STRANGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(first_bytes_read_tls, data, size);
    check(first_bytes_read_http, data, size);
    return 0;
}
