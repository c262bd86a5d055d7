#include "interpreter/base/bounds.h"
#include "mcp/base/rpc.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KEPT_MAX 8

/* A peer that keeps what it is asked and what it sends. */
struct peer {
    struct rpc rpc;
    struct rpc_observer observer;
    struct rpc_answer *owed[KEPT_MAX];
    size_t owed_count;
    size_t notifications;
    size_t batches_held;
    char last_method[64];
    struct buffer sent; /* lines, each with a newline behind it */
};

static void keep_request(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct peer *peer = data;
    assert_true(peer->owed_count < KEPT_MAX);
    peer->owed[peer->owed_count++] = answer;
    snprintf(peer->last_method, sizeof(peer->last_method), "%s", message->method->text);
}

static void count_notification(void *data, const struct rpc_message *message)
{
    (void)message;
    struct peer *peer = data;
    peer->notifications++;
}

static void keep_line(void *data, struct buffer *line)
{
    struct peer *peer = data;
    assert_null(memchr(line->data, '\n', line->length));
    assert_true(line->length < LINE_OUT_MAX);
    assert_int_equal(buffer_append(&peer->sent, line->data, line->length), 0);
    assert_int_equal(buffer_append(&peer->sent, "\n", 1), 0);
}

static void peer_open(struct peer *peer)
{
    *peer = (struct peer){
        .observer = {.request = keep_request,
                     .notification = count_notification,
                     .send = keep_line,
                     .data = peer},
        .sent = BUFFER(OUTPUT_MAX),
    };
    peer->rpc.observer = &peer->observer;
    peer->rpc.batches_held = &peer->batches_held;
}

static void peer_close(struct peer *peer)
{
    for (size_t i = 0; i < peer->owed_count; i++)
        rpc_answer_drop(peer->owed[i]);
    buffer_release(&peer->sent);
}

static void receive(struct peer *peer, const char *line)
{
    rpc_receive(&peer->rpc, line, strlen(line));
}

static void assert_sent(struct peer *peer, const char *expected)
{
    assert_string_equal(buffer_string(&peer->sent), expected);
    buffer_release(&peer->sent);
}

/* The answer to the oldest request. */
static struct rpc_answer *take_owed(struct peer *peer)
{
    assert_true(peer->owed_count > 0);
    struct rpc_answer *answer = peer->owed[0];
    memmove(peer->owed, peer->owed + 1, --peer->owed_count * sizeof(*peer->owed));
    return answer;
}

static void write_text(struct json_writer *writer, const void *data)
{
    json_text(writer, data);
}

static void a_request_is_owed_one_answer(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000\",\"method\":\"m\",\"params\":{}}\r");
    assert_string_equal(peer.last_method, "m");
    assert_sent(&peer, "");
    rpc_answer_result(take_owed(&peer), write_text, "done");
    assert_sent(&peer, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000\",\"result\":\"done\"}\n");
}

static void errors_carry_code_message_and_data(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"id\":-0,\"method\":\"m\"}");
    rpc_answer_error(take_owed(&peer), -1, "no %s", "way");
    assert_sent(&peer,
                "{\"jsonrpc\":\"2.0\",\"id\":-0,\"error\":{\"code\":-1,\"message\":\"no way\"}}\n");
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    rpc_answer_error_with(take_owed(&peer), -2, "about", write_text, "x");
    assert_sent(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-2,\"message\":\"about\","
                       "\"data\":\"x\"}}\n");
}

static void blank_lines_notifications_and_answers_get_none(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    receive(&peer, "");
    receive(&peer, " \t\r");
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}");
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}");
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[]}");
    receive(&peer, "{\"jsonrpc\":\"1.0\",\"method\":\"m\"}");
    assert_sent(&peer, "");
    assert_int_equal(peer.notifications, 1);
    assert_int_equal(peer.owed_count, 0);
}

static void a_result_that_is_too_long_becomes_an_error(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    receive(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    OWNED_MEMORY char *text = malloc(LINE_OUT_MAX + 1);
    memset(text, 'x', LINE_OUT_MAX);
    text[LINE_OUT_MAX] = '\0';
    rpc_answer_result(take_owed(&peer), write_text, text);
    assert_non_null(strstr(buffer_string(&peer.sent), "-32603"));
}

static void a_batch_is_sent_when_its_last_answer_is_given(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    peer.rpc.batches = true;
    receive(&peer, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},"
                   "{\"jsonrpc\":\"2.0\",\"method\":\"n\"},"
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}]");
    assert_int_equal(peer.owed_count, 2);
    struct rpc_answer *first = take_owed(&peer);
    rpc_answer_result(take_owed(&peer), write_text, "b");
    assert_sent(&peer, "");
    rpc_answer_result(first, write_text, "a");
    assert_sent(&peer, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"b\"},"
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\"}]\n");
}

static void a_dropped_answer_is_missing_from_its_batch(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    peer.rpc.batches = true;
    receive(&peer, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},"
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}]");
    rpc_answer_drop(take_owed(&peer));
    rpc_answer_result(take_owed(&peer), write_text, "b");
    assert_sent(&peer, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"b\"}]\n");
    receive(&peer, "[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\"}]");
    rpc_answer_drop(take_owed(&peer));
    assert_sent(&peer, "");
}

#define LARGE (LINE_OUT_MAX / 2 - 1000) /* a batch has room for one such result */

static char *large_text(void)
{
    char *text = malloc(LARGE + 1);
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    return text;
}

static void answer_at_once(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct peer *peer = data;
    OWNED_MEMORY char *text = large_text();
    snprintf(peer->last_method, sizeof(peer->last_method), "%s", message->method->text);
    rpc_answer_result(answer, write_text, text);
}

static void results_that_overfill_a_batch_become_errors(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    peer.rpc.batches = true;
    receive(&peer, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},"
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}]");
    OWNED_MEMORY char *text = large_text();
    rpc_answer_result(take_owed(&peer), write_text, text);
    rpc_answer_result(take_owed(&peer), write_text, text);
    OWNED(json_release) struct json *json = NULL;
    assert_int_equal(json_parse(peer.sent.data, peer.sent.length, &json, NULL), 0);
    const struct json_value *list = json_root(json);
    assert_int_equal(list->count, 2);
    assert_int_equal(json_member(list->first, "result")->length, LARGE);
    assert_non_null(json_member(list->first->next, "error"));
}

static void full_batch_carries_out_no_more(void **state)
{
    (void)state;
    OWNED(peer_close) struct peer peer;
    peer_open(&peer);
    peer.rpc.batches = true;
    peer.observer.request = answer_at_once;
    receive(&peer, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},"
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"},"
                   "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"c\"}]");
    assert_string_equal(peer.last_method, "b");
    OWNED(json_release) struct json *json = NULL;
    assert_int_equal(json_parse(peer.sent.data, peer.sent.length, &json, NULL), 0);
    assert_int_equal(json_root(json)->count, 3);
    assert_non_null(strstr(buffer_string(&peer.sent), "the batch is too large"));
}

/* Each batch waits for its second answer. */
static void batches_that_wait_hold_bounded_memory(void **state)
{
    (void)state;
    static struct peer peers[BATCHES_HELD_MAX / LARGE + 8];
    OWNED_MEMORY char *text = large_text();
    size_t refused = 0;
    size_t held = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(peers); i++) {
        peer_open(&peers[i]);
        peers[i].rpc.batches = true;
        peers[i].rpc.batches_held = &held;
        receive(&peers[i], "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},"
                           "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}]");
        if (peers[i].owed_count > 0)
            rpc_answer_result(take_owed(&peers[i]), write_text, text);
        refused += peers[i].rpc.error != 0;
    }
    assert_true(refused >= 8);
    assert_int_equal(peers[0].rpc.error, 0);
    for (size_t i = 0; i < ARRAY_LENGTH(peers); i++)
        peer_close(&peers[i]);
    assert_int_equal(held, 0);
}

static void ids_are_equal_by_type_and_value(void **state)
{
    (void)state;
    static const struct {
        const char *id, *other;
        bool equal;
    } cases[] = {
        {"1", "1", true},
        {"1", "\"1\"", false},
        {"\"1\"", "1", false},
        {"\"A\"", "\"\\u0041\"", true},
        {"\"a\"", "\"a\\u0000\"", false},
        {"18446744073709551616", "18446744073709551616", true},
        {"18446744073709551616", "18446744073709551617", false},
        {"1", "1.0", false},
        {"1", "null", false},
        {"1", "[1]", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(peer_close) struct peer peer;
        peer_open(&peer);
        char line[256];
        snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}",
                 cases[i].id);
        receive(&peer, line);
        OWNED(json_release) struct json *other = NULL;
        assert_int_equal(json_parse(cases[i].other, strlen(cases[i].other), &other, NULL), 0);
        assert_int_equal(rpc_answer_is_for(peer.owed[0], 0, json_root(other)), cases[i].equal);
        assert_false(rpc_answer_is_for(peer.owed[0], 0, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_owed_one_answer),
        cmocka_unit_test(errors_carry_code_message_and_data),
        cmocka_unit_test(blank_lines_notifications_and_answers_get_none),
        cmocka_unit_test(a_result_that_is_too_long_becomes_an_error),
        cmocka_unit_test(a_batch_is_sent_when_its_last_answer_is_given),
        cmocka_unit_test(a_dropped_answer_is_missing_from_its_batch),
        cmocka_unit_test(results_that_overfill_a_batch_become_errors),
        cmocka_unit_test(full_batch_carries_out_no_more),
        cmocka_unit_test(batches_that_wait_hold_bounded_memory),
        cmocka_unit_test(ids_are_equal_by_type_and_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
