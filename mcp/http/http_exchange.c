#include "mcp/http/http_exchange.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/heap.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_BEGIN "event: message\ndata: "
#define EVENT_END "\n\n"
#define LARGE_BLOCK (128 * KIBIBYTE) /* not kept between events */
#define RETURNED_AFTER (32 * MEBIBYTE) /* of memory freed, the heap is trimmed */

struct http_field {
    struct http_field *next;
    char text[];
};

/* libmicrohttpd before 1.0 leaves blanks at the end. Source: RFC 9110, section 5.5. */
const char *http_exchange_field(struct http_exchange *exchange, const char *name)
{
    const char *value = MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
    size_t length = value != NULL ? strlen(value) : 0;
    size_t whole = length;
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    struct http_field *field = length < whole ? calloc(1, sizeof(*field) + length + 1) : NULL;
    if (field == NULL)
        return value;
    memcpy(field->text, value, length);
    field->next = exchange->fields;
    exchange->fields = field;
    return field->text;
}

/* `sum` is one of the two of `memory`. */
static void count(struct http_memory *memory, size_t *sum, size_t *part, size_t bytes)
{
    if (bytes < *part)
        memory->freed += *part - bytes;
    *sum += bytes - *part;
    *part = bytes;
}

/* Many small blocks of large requests, such as names of files, stay with the program otherwise. */
static void return_memory(struct http_memory *memory)
{
    if (memory->freed < RETURNED_AFTER)
        return;
    memory->freed = 0;
    heap_trim();
}

void http_exchange_hold(struct http_exchange *exchange, size_t bytes)
{
    count(exchange->memory, &exchange->memory->requests, &exchange->held_counted, bytes);
}

bool http_exchange_count_body(struct http_exchange *exchange, size_t length)
{
    if (length > HTTP_REQUESTS_MAX || exchange->memory->requests > HTTP_REQUESTS_MAX - length)
        return false;
    count(exchange->memory, &exchange->memory->requests, &exchange->body_counted,
          exchange->body_counted + length);
    return true;
}

void http_exchange_forget_body(struct http_exchange *exchange)
{
    buffer_release(&exchange->body);
    count(exchange->memory, &exchange->memory->requests, &exchange->body_counted, 0);
}

/*
 * The answer has so many bytes now. If there are too many of all, clients that have taken longest lose theirs, as
 * they would a little later.
 */
static void count_answer(struct http_exchange *exchange, size_t bytes)
{
    struct http_memory *memory = exchange->memory;
    struct http_connection *own = http_connection_of(exchange->connection);
    count(memory, &memory->answers, &exchange->answer_counted, bytes);
    if (own == NULL || memory->answers <= HTTP_ANSWERS_MAX)
        return;
    struct http_connection *next = own->all->first;
    while (next != NULL && memory->answers > HTTP_ANSWERS_MAX) {
        struct http_connection *connection = next;
        struct http_exchange *other = connection->answered;
        next = connection->next;
        if (other == NULL || other == exchange)
            continue;
        count(memory, &memory->answers, &other->answer_counted, 0);
        http_connection_shut(connection);
    }
}

void http_exchange_free(struct http_exchange *exchange)
{
    struct http_connection *connection = http_connection_of(exchange->connection);
    if (connection != NULL)
        connection->answered = NULL;
    http_exchange_forget_body(exchange);
    http_exchange_hold(exchange, 0);
    count(exchange->memory, &exchange->memory->answers, &exchange->answer_counted, 0);
    buffer_release(&exchange->answer);
    while (exchange->fields != NULL) {
        struct http_field *field = exchange->fields;
        exchange->fields = field->next;
        free(field);
    }
    return_memory(exchange->memory);
    free(exchange);
}

/* libmicrohttpd asks again what to do, from the loop. */
static void go_on(struct http_exchange *exchange)
{
    if (!exchange->is_suspended)
        return;
    exchange->is_suspended = false;
    MHD_resume_connection(exchange->connection);
    loop_arm(exchange->loop, exchange->turn, clock_now());
}

/* The last word is said: the client has some time to take it. */
static void begin_last_step(struct http_exchange *exchange)
{
    struct http_connection *connection = http_connection_of(exchange->connection);
    if (connection != NULL) {
        connection->left = NULL;
        connection->answered = exchange;
        http_connection_time(connection);
    }
    count_answer(exchange, exchange->answer.length);
    go_on(exchange);
}

void http_exchange_answer(struct http_exchange *exchange, unsigned status, const char *type,
                          struct buffer *content)
{
    if (exchange->state != HTTP_READING && exchange->state != HTTP_WAITING) {
        buffer_release(content);
        return;
    }
    exchange->state = HTTP_ANSWERED;
    exchange->status = status;
    exchange->type = type;
    exchange->answer = *content;
    *content = BUFFER(0);
    begin_last_step(exchange);
}

void http_exchange_refuse(struct http_exchange *exchange, unsigned status, const char *format, ...)
{
    char text[FAULT_TEXT_MAX];
    OWNED(buffer_release) struct buffer content = BUFFER(8 * FAULT_TEXT_MAX);
    struct json_writer *writer = NULL;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (json_writer_open(&content, &writer) == 0) {
        json_begin_object(writer);
        json_text_member(writer, "error", text);
        json_end_object(writer);
        if (json_writer_close(writer) < 0)
            buffer_release(&content);
    }
    http_exchange_answer(exchange, status, "application/json", &content);
}

void http_exchange_set_field(struct http_exchange *exchange, const char *name, const char *value)
{
    exchange->header_name = name;
    snprintf(exchange->header_value, sizeof(exchange->header_value), "%s", value);
}

static void begin_stream(struct http_exchange *exchange)
{
    exchange->state = HTTP_STREAMING;
    exchange->status = MHD_HTTP_OK;
    exchange->type = "text/event-stream";
    exchange->answer = BUFFER(HTTP_STREAM_MAX);
}

/* What is sent has no end. Later, from the loop, the endpoint is told of its own: whoever sends may be using what that frees. */
static void cut_stream(struct http_exchange *exchange)
{
    struct http_connection *connection = http_connection_of(exchange->connection);
    exchange->is_last = exchange->is_cut = true;
    if (connection != NULL)
        http_connection_shut(connection);
    go_on(exchange);
}

void http_exchange_send(struct http_exchange *exchange, const char *data, size_t length)
{
    if (exchange->state == HTTP_WAITING)
        begin_stream(exchange);
    if (exchange->state != HTTP_STREAMING || exchange->is_last)
        return;
    struct buffer *answer = &exchange->answer;
    if (exchange->taken > 0)
        buffer_consume(answer, exchange->taken);
    exchange->taken = 0;
    if (buffer_reserve(answer, length + sizeof(EVENT_BEGIN EVENT_END)) < 0) {
        cut_stream(exchange); /* no memory, or it does not read */
        return;
    }
    buffer_append_text(answer, EVENT_BEGIN);
    buffer_append(answer, data, length);
    buffer_append_text(answer, EVENT_END);
    count_answer(exchange, answer->length);
    go_on(exchange);
}

void http_exchange_end_stream(struct http_exchange *exchange)
{
    if (exchange->state == HTTP_WAITING)
        begin_stream(exchange);
    if (exchange->state != HTTP_STREAMING || exchange->is_last)
        return;
    exchange->is_last = true;
    begin_last_step(exchange);
}

size_t http_exchange_unsent(const struct http_exchange *exchange)
{
    return exchange->state == HTTP_STREAMING ? exchange->answer.length - exchange->taken : 0;
}

/* For MHD_create_response_from_callback(). */
static ssize_t take_events(void *data, uint64_t position, char *space, size_t size)
{
    (void)position;
    struct http_exchange *exchange = data;
    struct buffer *answer = &exchange->answer;
    size_t left = answer->length - exchange->taken;
    if (exchange->state == HTTP_GONE || exchange->is_cut)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (left == 0 && exchange->is_last)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (left == 0) {
        exchange->is_suspended = true;
        MHD_suspend_connection(exchange->connection);
        return 0;
    }
    size_t length = left < size ? left : size;
    memcpy(space, answer->data + exchange->taken, length);
    exchange->taken += length;
    if (length == left) {
        exchange->taken = answer->length = 0;
        if (answer->capacity > LARGE_BLOCK)
            buffer_release(answer);
        count_answer(exchange, 0);
    }
    return (ssize_t)length;
}

static struct MHD_Response *make_response(struct http_exchange *exchange)
{
    if (exchange->state == HTTP_STREAMING)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, HTTP_STREAM_BLOCK, take_events,
                                                 exchange, NULL);
    size_t length = exchange->answer.length;
    void *content = pointer_take(&exchange->answer.data);
    exchange->answer = BUFFER(0);
    return MHD_create_response_from_buffer(length, content, MHD_RESPMEM_MUST_FREE);
}

static void add_fields(const struct http_exchange *exchange, struct MHD_Response *response)
{
    if (exchange->type != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, exchange->type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (exchange->state == HTTP_STREAMING)
        MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* nginx passes events on */
    if (exchange->header_name != NULL)
        MHD_add_response_header(response, exchange->header_name, exchange->header_value);
    /* What follows on the connection may be the rest of a request that was not read. */
    if (exchange->endpoint == NULL || exchange->is_last_one)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

bool http_exchange_respond(struct http_exchange *exchange)
{
    if (exchange->state == HTTP_GONE)
        return false;
    if (exchange->state == HTTP_WAITING) {
        exchange->is_suspended = true;
        MHD_suspend_connection(exchange->connection);
        return true;
    }
    struct MHD_Response *response = make_response(exchange);
    if (response == NULL)
        return false;
    add_fields(exchange, response);
    enum MHD_Result result = MHD_queue_response(exchange->connection, exchange->status, response);
    MHD_destroy_response(response);
    return result == MHD_YES;
}

void http_exchange_abandon(struct http_exchange *exchange)
{
    struct http_connection *connection = http_connection_of(exchange->connection);
    if (connection != NULL)
        connection->left = NULL;
    exchange->state = HTTP_GONE;
    if (exchange->has_begun) {
        exchange->has_begun = false;
        exchange->endpoint->end(exchange, exchange->endpoint->owner);
    }
    go_on(exchange);
}
