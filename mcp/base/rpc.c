#include "mcp/base/rpc.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An answer to an array of messages: one array, sent when its last answer has been given. */
struct rpc_batch {
    struct rpc *rpc;
    struct buffer text;
    size_t owed; /* answers still missing, plus one while the messages are being read */
    bool is_full; /* a result found no room: no further request is carried out */
};

struct rpc_answer {
    struct rpc *rpc;
    struct rpc_batch *batch; /* NULL: the answer has a line of its own */
    struct buffer id;        /* as JSON text */
};

/* Room for results in a batch; the rest is reserved for errors. */
#define BATCH_RESULTS_MAX (LINE_OUT_MAX / 2)

#define BATCHES_WAIT "too many results of batches wait to be sent: send requests one by one"

static void answer_free(struct rpc_answer *answer)
{
    buffer_release(&answer->id);
    free(answer);
}

static void settle(struct rpc *rpc)
{
    if (--rpc->open == 0 && rpc->observer->settled != NULL)
        rpc->observer->settled(rpc->observer->data);
}

static void batch_settle(struct rpc_batch *batch)
{
    if (--batch->owed > 0)
        return;
    *batch->rpc->batches_held -= batch->text.capacity;
    if (batch->text.length > 0 && buffer_append(&batch->text, "]", 1) == 0)
        batch->rpc->observer->send(batch->rpc->observer->data, &batch->text);
    buffer_release(&batch->text);
    free(batch);
}

static int batch_append(struct rpc_batch *batch, const struct buffer *message)
{
    OWNED(buffer_release) struct buffer item = BUFFER(LINE_OUT_MAX);
    int r = buffer_append(&item, batch->text.length > 0 ? "," : "[", 1);
    if (r == 0)
        r = buffer_append(&item, message->data, message->length);
    if (r < 0)
        return r;
    size_t capacity = batch->text.capacity;
    r = buffer_append(&batch->text, item.data, item.length);
    *batch->rpc->batches_held += batch->text.capacity - capacity;
    return r;
}

/* Sends the message, or puts it into its batch; frees the answer. */
static void answer_deliver(struct rpc_answer *answer, struct buffer *message)
{
    struct rpc *rpc = answer->rpc;
    struct rpc_batch *batch = answer->batch;
    answer_free(answer);
    if (batch == NULL)
        rpc->observer->send(rpc->observer->data, message);
    else if (batch_append(batch, message) < 0)
        log_note("an answer did not fit into its batch and was lost");
    if (batch != NULL)
        batch_settle(batch);
    settle(rpc);
}

void rpc_answer_drop(struct rpc_answer *answer)
{
    struct rpc *rpc = answer->rpc;
    struct rpc_batch *batch = answer->batch;
    answer_free(answer);
    if (batch != NULL)
        batch_settle(batch);
    settle(rpc);
}

struct rpc *rpc_answer_rpc(const struct rpc_answer *answer)
{
    return answer->rpc;
}

void rpc_answer_write_id(const struct rpc_answer *answer, struct json_writer *writer)
{
    if (answer->id.length > 0)
        json_raw(writer, answer->id.data, answer->id.length);
    else
        json_null(writer);
}

static void begin_answer(struct json_writer *writer, const struct rpc_answer *answer)
{
    json_begin_object(writer);
    json_text_member(writer, "jsonrpc", "2.0");
    if (answer->id.length == 0 && !answer->rpc->null_ids)
        return;
    json_key(writer, "id");
    rpc_answer_write_id(answer, writer);
}

struct error_body {
    int code;
    const char *message;
    void (*write)(struct json_writer *writer, const void *data); /* its data, or NULL for none */
    const void *data;
};

static int write_error(struct buffer *message, const struct rpc_answer *answer,
                       const struct error_body *error)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(message, &writer);
    if (r < 0)
        return r;
    begin_answer(writer, answer);
    json_key(writer, "error");
    json_begin_object(writer);
    json_number_member(writer, "code", error->code);
    json_text_member(writer, "message", error->message);
    if (error->write != NULL) {
        json_key(writer, "data");
        error->write(writer, error->data);
    }
    json_end_object(writer);
    json_end_object(writer);
    return json_writer_close(writer);
}

static void answer_error(struct rpc_answer *answer, const struct error_body *error)
{
    OWNED(buffer_release) struct buffer message = BUFFER(LINE_OUT_MAX - 1);
    answer->rpc->error = error->code;
    if (write_error(&message, answer, error) < 0) {
        log_note("no memory for an answer: the client gets none");
        rpc_answer_drop(answer);
        return;
    }
    answer_deliver(answer, &message);
}

void rpc_answer_error(struct rpc_answer *answer, int code, const char *format, ...)
{
    char text[FAULT_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    answer_error(answer, &(struct error_body){.code = code, .message = text});
}

void rpc_answer_error_with(struct rpc_answer *answer, int code, const char *message,
                           void (*write)(struct json_writer *writer, const void *data),
                           const void *data)
{
    answer_error(answer, &(struct error_body){code, message, write, data});
}

/* Without an id it is a notification. */
static int write_call(struct buffer *message, const char *id, const char *method,
                      void (*write)(struct json_writer *writer, const void *data), const void *data)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(message, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_text_member(writer, "jsonrpc", "2.0");
    if (id != NULL)
        json_text_member(writer, "id", id);
    json_text_member(writer, "method", method);
    json_key(writer, "params");
    write(writer, data);
    json_end_object(writer);
    return json_writer_close(writer);
}

int rpc_ask(struct rpc *rpc, const char *id, const char *method,
            void (*write)(struct json_writer *writer, const void *data), const void *data)
{
    OWNED(buffer_release) struct buffer message = BUFFER(LINE_OUT_MAX - 1);
    const struct rpc_observer *observer = rpc->observer;
    int r = write_call(&message, id, method, write, data);
    if (r == 0)
        (observer->notify != NULL ? observer->notify : observer->send)(observer->data, &message);
    return r;
}

void rpc_notify(struct rpc *rpc, const char *method,
                void (*write)(struct json_writer *writer, const void *data), const void *data)
{
    rpc_ask(rpc, NULL, method, write, data);
}

static int write_result(struct buffer *message, const struct rpc_answer *answer,
                        void (*write)(struct json_writer *writer, const void *data),
                        const void *data)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(message, &writer);
    if (r < 0)
        return r;
    begin_answer(writer, answer);
    json_key(writer, "result");
    write(writer, data);
    json_end_object(writer);
    return json_writer_close(writer);
}

/* -EAGAIN: other batches leave no room for the result. */
static int batch_check_room(const struct rpc_batch *batch, size_t length)
{
    if (batch->text.length + length > BATCH_RESULTS_MAX)
        return -ENOBUFS;
    return *batch->rpc->batches_held + length > BATCHES_HELD_MAX ? -EAGAIN : 0;
}

void rpc_answer_result(struct rpc_answer *answer,
                       void (*write)(struct json_writer *writer, const void *data),
                       const void *data)
{
    OWNED(buffer_release) struct buffer message = BUFFER(LINE_OUT_MAX - 1);
    struct rpc_batch *batch = answer->batch;
    int r = write_result(&message, answer, write, data);
    if (r == 0 && batch != NULL)
        r = batch_check_room(batch, message.length);
    if (r < 0 && batch != NULL)
        batch->is_full = true;
    if (r == 0) {
        answer->rpc->error = 0;
        answer_deliver(answer, &message);
    } else if (r == -ENOBUFS) {
        rpc_answer_error(answer, RPC_INTERNAL_ERROR,
                         "the answer is too large for one line (%llu bytes at most%s)",
                         (unsigned long long)LINE_OUT_MAX,
                         batch != NULL ? ", the whole batch together" : "");
    } else if (r == -EAGAIN) {
        rpc_answer_error(answer, RPC_INTERNAL_ERROR, BATCHES_WAIT);
    } else {
        rpc_answer_error(answer, RPC_INTERNAL_ERROR, "writing the answer: %s", strerror(-r));
    }
}

/* An id is a string or an integer, of any size we can echo. */
static bool id_is_valid(const struct json_value *id)
{
    if (id == NULL || id->length > ID_MAX)
        return false;
    return id->type == JSON_STRING || (id->type == JSON_NUMBER && strpbrk(id->text, ".eE") == NULL);
}

int rpc_id_write(const struct json_value *id, struct buffer *text)
{
    if (!id_is_valid(id))
        return -EINVAL;
    if (id->written != NULL) /* no other spelling is the same id to a client */
        return buffer_append_text(text, id->written);
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_copy(writer, id);
    return json_writer_close(writer);
}

bool rpc_answer_has_id(const struct rpc_answer *answer, const struct json_value *id)
{
    OWNED(buffer_release) struct buffer text = BUFFER(8 * ID_MAX);
    return rpc_id_write(id, &text) == 0 && text.length == answer->id.length &&
           memcmp(text.data, answer->id.data, text.length) == 0;
}

bool rpc_answer_shares_id(const struct rpc_answer *answer, const struct rpc_answer *other)
{
    return answer->id.length == other->id.length &&
           memcmp(answer->id.data, other->id.data, other->id.length) == 0;
}

bool rpc_answer_is_for(const struct rpc_answer *answer, uint64_t peer, const struct json_value *id)
{
    return answer->rpc->peer == peer && rpc_answer_has_id(answer, id);
}

bool rpc_answer_same_id(const struct rpc_answer *answer, const struct rpc_answer *other)
{
    return answer->rpc->peer == other->rpc->peer && rpc_answer_shares_id(answer, other);
}

/* `id` is NULL if the message has no readable id. NULL: no memory. */
static struct rpc_answer *answer_new(struct rpc *rpc, struct rpc_batch *batch,
                                     const struct json_value *id)
{
    struct rpc_answer *answer = calloc(1, sizeof(*answer));
    if (answer == NULL)
        goto lost;
    *answer = (struct rpc_answer){.rpc = rpc, .batch = batch, .id = BUFFER(8 * ID_MAX)};
    if (id != NULL && rpc_id_write(id, &answer->id) < 0)
        goto lost;
    if (batch != NULL)
        batch->owed++;
    rpc->open++;
    return answer;
lost:
    if (answer != NULL)
        answer_free(answer);
    log_note("no memory for a request: it is not answered");
    return NULL;
}

static void refuse(struct rpc *rpc, struct rpc_batch *batch, const struct json_value *id,
                   const char *why)
{
    struct rpc_answer *answer = answer_new(rpc, batch, id_is_valid(id) ? id : NULL);
    if (answer != NULL)
        rpc_answer_error(answer, RPC_INVALID_REQUEST, "%s", why);
}

static void receive_request(struct rpc *rpc, struct rpc_batch *batch, const struct json_value *id,
                            const struct rpc_message *message)
{
    struct rpc_answer *answer = answer_new(rpc, batch, id);
    if (answer == NULL)
        return;
    if (message->params != NULL && message->params->type != JSON_OBJECT) {
        rpc_answer_error(answer, RPC_INVALID_PARAMS, "params must be an object");
        return;
    }
    if (batch != NULL && batch->is_full) {
        rpc_answer_error(answer, RPC_INTERNAL_ERROR,
                         "not carried out: the batch is too large; send fewer requests in one");
        return;
    }
    rpc->observer->request(rpc->observer->data, message, answer);
}

/* Distinguishes requests, notifications, answers and invalid messages. */
static void receive_message(struct rpc *rpc, struct rpc_batch *batch,
                            const struct json_value *value)
{
    const struct json_value *id = json_member(value, "id");
    const struct json_value *params = json_member(value, "params");
    const struct rpc_message message = {
        .method = json_member(value, "method"),
        /* A simple client may send null for missing parameters. */
        .params = params != NULL && params->type == JSON_NULL ? NULL : params,
        .in_batch = batch != NULL,
    };
    if (value->type != JSON_OBJECT) {
        refuse(rpc, batch, NULL, "not a JSON-RPC message: it must be an object");
        return;
    }
    if (message.method == NULL &&
        (json_member(value, "result") != NULL || json_member(value, "error") != NULL)) {
        if (rpc->observer->answered != NULL)
            rpc->observer->answered(rpc->observer->data, id, json_member(value, "result"),
                                    json_member(value, "error"));
        return;
    }
    bool is_named = message.method != NULL && message.method->type == JSON_STRING;
    bool is_object = message.params == NULL || message.params->type == JSON_OBJECT;
    if (id == NULL && is_named) {
        /* Notifications are never answered, not even invalid ones. */
        if (is_object && json_is(json_member(value, "jsonrpc"), "2.0"))
            rpc->observer->notification(rpc->observer->data, &message);
        return;
    }
    if (!json_is(json_member(value, "jsonrpc"), "2.0"))
        refuse(rpc, batch, id, "not a JSON-RPC 2.0 message: \"jsonrpc\" must be \"2.0\"");
    else if (!is_named)
        refuse(rpc, batch, id, "not a JSON-RPC request: \"method\" must be a string");
    else if (!id_is_valid(id))
        refuse(rpc, batch, NULL,
               "the id of a request must be an integer or a string of at most 1024 bytes");
    else
        receive_request(rpc, batch, id, &message);
}

static void receive_batch(struct rpc *rpc, const struct json_value *list)
{
    if (!rpc->batches) {
        refuse(rpc, NULL, NULL, "batches are part of protocol version 2025-03-26 only");
        return;
    }
    if (list->count == 0 || list->count > BATCH_MAX) {
        refuse(rpc, NULL, NULL, "a batch must have 1 to 256 messages");
        return;
    }
    if (*rpc->batches_held >= BATCHES_HELD_MAX) {
        refuse(rpc, NULL, NULL, BATCHES_WAIT);
        return;
    }
    struct rpc_batch *batch = calloc(1, sizeof(*batch));
    if (batch == NULL) {
        log_note("no memory for a batch: it is not answered");
        return;
    }
    *batch = (struct rpc_batch){.rpc = rpc, .text = BUFFER(LINE_OUT_MAX - 1), .owed = 1};
    for (const struct json_value *value = list->first; value != NULL; value = value->next)
        receive_message(rpc, batch, value);
    batch_settle(batch);
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    }
    return true;
}

void rpc_receive(struct rpc *rpc, const char *line, size_t length)
{
    if (is_blank(line, length))
        return;
    struct fault fault = {0};
    OWNED(json_release) struct json *json = NULL;
    int r = json_parse(line, length, &json, &fault);
    if (r < 0) {
        struct rpc_answer *answer = answer_new(rpc, NULL, NULL);
        if (answer != NULL)
            rpc_answer_error(answer, r == -ENOMEM ? RPC_INTERNAL_ERROR : RPC_PARSE_ERROR, "%s",
                             fault.text);
        return;
    }
    const struct json_value *root = json_root(json);
    if (root->type == JSON_ARRAY)
        receive_batch(rpc, root);
    else
        receive_message(rpc, NULL, root);
}

void rpc_receive_oversized(struct rpc *rpc)
{
    refuse(rpc, NULL, NULL, "the message is longer than 16 MiB, the maximum");
}
