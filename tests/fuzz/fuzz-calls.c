/*
 * What the program of a session writes to its pipe of calls: whatever comes, a piece lies within what was read, has a name
 * exactly if it begins a call, and taking the same bytes in other portions gives the same pieces.
 */
#include "sandbox/call_reader.h"
#include "sandbox/limits/limits.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define PORTION_MAX 32768 /* a pipe takes it at once */

struct sum {
    size_t pieces, bytes;
    uint32_t mixed;
    int end; /* -EPROTO or -EAGAIN */
};

static void add(struct sum *sum, const struct call_piece *piece)
{
    FUZZ_CHECK(piece->length + piece->name_length <= CALL_FRAME_MAX);
    FUZZ_CHECK(piece->name_length <= CALL_NAME_MAX);
    FUZZ_CHECK(piece->kind == CALL_BEGIN || piece->kind == CALL_CANCEL ||
               piece->kind == CALL_WAIT || piece->kind == CALL_LIST);
    FUZZ_CHECK((piece->name_length > 0) == ((piece->flags & CALL_FIRST) != 0));
    sum->pieces++;
    sum->bytes += piece->length;
    sum->mixed = sum->mixed * 31 + piece->call + (uint32_t)piece->kind + piece->flags;
    for (size_t i = 0; i < piece->name_length; i++)
        sum->mixed = sum->mixed * 31 + (unsigned char)piece->name[i];
    for (size_t i = 0; i < piece->length; i++)
        sum->mixed = sum->mixed * 31 + (unsigned char)piece->bytes[i];
}

static struct sum read_all(const uint8_t *bytes, size_t length, size_t portion)
{
    static struct call_reader reader;
    struct sum sum = {.end = -EAGAIN};
    int fds[2];
    FUZZ_CHECK(pipe(fds) == 0);
    reader.length = reader.taken = 0;
    while (length > 0 && sum.end == -EAGAIN) {
        size_t taken = length < portion ? length : portion;
        FUZZ_CHECK(write(fds[1], bytes, taken) == (ssize_t)taken);
        FUZZ_CHECK(call_reader_fill(&reader, fds[0]) == 0);
        bytes += taken;
        length -= taken;
        struct call_piece piece;
        while ((sum.end = call_reader_next(&reader, &piece)) == 0)
            add(&sum, &piece);
    }
    close(fds[0]);
    close(fds[1]);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const struct sum whole = read_all(bytes, length, PORTION_MAX);
    const struct sum parts = read_all(bytes, length, 1 + length / 7);
    FUZZ_CHECK(whole.pieces == parts.pieces && whole.bytes == parts.bytes);
    FUZZ_CHECK(whole.mixed == parts.mixed && whole.end == parts.end);
    return 0;
}
