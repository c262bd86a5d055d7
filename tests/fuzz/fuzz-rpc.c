/*
 * Lines of a client through rpc_receive(), requests answered in every way there is: at once or at
 * the end, with a result, an error, or never. The first byte chooses. Each line sent is an answer of
 * JSON-RPC, and there are exactly as many as the specification asks for.
 */
#include "interpreter/base/bounds.h"
#include "mcp/base/rpc.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/wire.h"

#include <string.h>

#define OWED_MAX 512

struct peer {
    struct rpc rpc;
    struct rpc_observer observer;
    struct rpc_answer *owed[OWED_MAX]; /* answered when the input ends */
    size_t owed_count;
    size_t sent, dropped, taken; /* answers; taken: requests seen */
    uint8_t manner;
};

static void write_manner(struct json_writer *writer, const void *data)
{
    const struct peer *peer = data;
    json_number(writer, peer->manner);
}

static void write_about(struct json_writer *writer, const void *data)
{
    (void)data;
    json_string(writer, "\n\0\xff", 3);
}

static void give(struct peer *peer, struct rpc_answer *answer, unsigned manner)
{
    switch (manner % 4) {
    case 0:
        rpc_answer_result(answer, write_manner, peer);
        break;
    case 1:
        rpc_answer_error(answer, RPC_INTERNAL_ERROR, "no %s", "\xff\"\\way");
        break;
    case 2:
        rpc_answer_error_with(answer, RPC_INVALID_PARAMS, "about", write_about, NULL);
        break;
    default:
        rpc_answer_drop(answer);
        peer->dropped++;
        break;
    }
}

static void take_request(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct peer *peer = data;
    FUZZ_CHECK(message->method != NULL && message->method->type == JSON_STRING);
    FUZZ_CHECK(message->params == NULL || message->params->type == JSON_OBJECT);
    FUZZ_CHECK(rpc_answer_same_id(answer, answer));
    FUZZ_CHECK(!message->in_batch || peer->rpc.batches);
    peer->taken++;
    if ((peer->manner & 32) != 0)
        rpc_notify(&peer->rpc, "x", write_about, NULL);
    if ((peer->manner & 4) != 0 && peer->owed_count < OWED_MAX)
        peer->owed[peer->owed_count++] = answer;
    else
        give(peer, answer, peer->manner);
}

static void take_notification(void *data, const struct rpc_message *message)
{
    const struct peer *peer = data;
    const struct json_value *id = json_member(message->params, "id");
    for (size_t i = 0; i < peer->owed_count; i++)
        rpc_answer_is_for(peer->owed[i], 0, id);
}

static void take_line(void *data, struct buffer *line)
{
    struct peer *peer = data;
    peer->sent += wire_check_line(line->data, line->length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct peer peer = {.manner = fuzz_byte(&input)};
    size_t batches_held = 0;
    peer.observer = (struct rpc_observer){.request = take_request,
                                          .notification = take_notification,
                                          .send = take_line,
                                          .data = &peer};
    peer.rpc = (struct rpc){.observer = &peer.observer,
                            .batches_held = &batches_held,
                            .batches = (peer.manner & 8) != 0,
                            .null_ids = (peer.manner & 16) != 0};
    size_t due = 0;
    while (input.size > 0) {
        const uint8_t *newline = memchr(input.data, '\n', input.size);
        size_t length = newline != NULL ? (size_t)(newline - input.data) : input.size;
        due += wire_answers_owed((const char *)input.data, length, peer.rpc.batches);
        rpc_receive(&peer.rpc, (const char *)input.data, length);
        input.data += length;
        input.size -= length;
        fuzz_byte(&input);
    }
    while (peer.owed_count > 0) {
        peer.owed_count--;
        give(&peer, peer.owed[peer.owed_count], peer.manner + (unsigned)peer.owed_count);
    }
    FUZZ_CHECK(peer.sent + peer.dropped == due);
    FUZZ_CHECK(peer.taken <= due);
    return 0;
}
