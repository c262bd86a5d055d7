/* The record that the broker sends: any bytes; what is accepted is written again as the same. */
#include "sandbox/base/owned.h"
#include "sandbox/network/record.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED_MEMORY struct network_record *record = malloc(sizeof(*record));
    OWNED_MEMORY uint8_t *bytes = malloc(RECORD_BYTES_MAX);
    FUZZ_CHECK(record != NULL && bytes != NULL);
    if (!record_read(data, size, record))
        return 0;
    FUZZ_CHECK(record_write(record, bytes) == size && memcmp(bytes, data, size) == 0);
    for (size_t i = 0; i < record->refusal_count; i++)
        FUZZ_CHECK(refusal_name((enum refusal)record->refusals[i].reason) != NULL);
    uint32_t questions = record->dns_questions;
    uint64_t sent = record->dns_sent;
    record_add_stream(record, "example.org", 443);
    record_add_bytes(record, "example.org", 443, 1, 2);
    record_add_question(record, 40);
    record_add_answer(record, 50);
    FUZZ_CHECK(record->dns_questions >= questions && record->dns_sent >= sent);
    for (size_t i = 0; i < record->host_count; i++) {
        if (strcmp(record->hosts[i].host, "example.org") == 0 && record->hosts[i].port == 443)
            FUZZ_CHECK(record->hosts[i].streams > 0 && record->hosts[i].sent > 1);
    }
    record_refuse(record, "example.com", 0, REFUSAL_NOT_LISTED);
    FUZZ_CHECK(record->host_count <= RECORD_HOSTS_MAX &&
               record->refusal_count <= RECORD_REFUSALS_MAX);
    return 0;
}
