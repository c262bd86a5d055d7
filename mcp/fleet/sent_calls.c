#include "mcp/fleet/sent_calls.h"

#include "mcp/base/bounds.h"
#include "mcp/fleet/lines.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RESULT_MAX (LINE_IN_MAX - KIBIBYTE) /* so that our process takes the line */
#define ENDS_MAX (64 * KIBIBYTE)

/* With the mutex. */
static struct sent_call **find(struct sent_calls *calls, uint64_t number)
{
    struct sent_call **at = &calls->first;
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void free_call(struct sent_call *call)
{
    if (call == NULL)
        return;
    buffer_release(&call->text);
    buffer_release(&call->result);
    free(call);
}

/* Takes the call out of the list; NULL: it is not there, or has been taken. The caller owns it. */
static struct sent_call *take_out(struct sent_calls *calls, uint64_t number, bool even_if_taken)
{
    pthread_mutex_lock(&calls->mutex);
    struct sent_call **at = find(calls, number);
    struct sent_call *call = *at;
    if (call != NULL && call->is_taken && !even_if_taken)
        call = NULL;
    if (call != NULL)
        *at = call->next;
    pthread_mutex_unlock(&calls->mutex);
    return call;
}

/* The newest last: the list is in the order of the numbers. */
int sent_calls_add(struct sent_calls *calls, uint64_t number,
                   const struct environment_name *environment, struct buffer *text)
{
    struct sent_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return -ENOMEM;
    *call = (struct sent_call){
        .number = number,
        .environment = environment,
        .text = *text,
        .result = BUFFER(RESULT_MAX),
    };
    *text = BUFFER(0);
    pthread_mutex_lock(&calls->mutex);
    *find(calls, 0) = call; /* no call has that number: the end */
    pthread_mutex_unlock(&calls->mutex);
    return 0;
}

int sent_calls_send(struct sent_calls *calls, uint64_t number, struct buffer *text,
                    const struct environment_name **ret_environment)
{
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = *find(calls, number);
    int r = call == NULL || call->sequence != 0 ? -ENOENT : 0;
    if (r == 0) {
        call->sent_at = clock_now();
        *text = BUFFER(call->text.length);
        *ret_environment = call->environment;
        r = buffer_append(text, call->text.data, call->text.length);
    }
    pthread_mutex_unlock(&calls->mutex);
    return r;
}

bool sent_calls_note_sequence(struct sent_calls *calls, uint64_t number, uint64_t sequence)
{
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = *find(calls, number);
    if (call != NULL) {
        call->sequence = sequence;
        call->stored_at = clock_now();
        buffer_release(&call->text);
    }
    pthread_mutex_unlock(&calls->mutex);
    return call != NULL;
}

bool sent_calls_grant(struct sent_calls *calls, uint64_t number, const char *worker)
{
    char line[64];
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = *find(calls, number);
    bool is_free = call != NULL && !call->is_taken;
    if (is_free) {
        call->is_taken = true;
        call->heard_at = clock_now();
        snprintf(call->worker, sizeof(call->worker), "%s", worker);
        int length = snprintf(line, sizeof(line), "{\"id\":%" PRIu64 ",\"taken\":true}", number);
        lines_write(line, (size_t)length); /* with the mutex: before the line of its end */
    }
    pthread_mutex_unlock(&calls->mutex);
    return is_free;
}

bool sent_calls_hear(struct sent_calls *calls, uint64_t number)
{
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = *find(calls, number);
    if (call != NULL)
        call->heard_at = clock_now();
    pthread_mutex_unlock(&calls->mutex);
    return call != NULL;
}

static void write_result(const struct sent_call *call)
{
    OWNED(buffer_release) struct buffer line = BUFFER(LINE_IN_MAX);
    if (buffer_format(&line, "{\"id\":%" PRIu64 ",\"result\":", call->number) < 0 ||
        buffer_append(&line, call->result.data, call->result.length) < 0 ||
        buffer_append(&line, "}", 1) < 0)
        lines_give_up();
    lines_write(line.data, line.length);
}

/* With the mutex: keeps a part that comes in turn. False: it is none, or too much. */
static bool add_part(struct sent_call *call, const char *part, size_t length, bool *ret_is_last)
{
    char head[64];
    size_t index, count;
    int used = 0;
    size_t head_length = length < sizeof(head) - 1 ? length : sizeof(head) - 1;
    memcpy(head, part, head_length);
    head[head_length] = '\0';
    if (sscanf(head, "%zu %zu%n", &index, &count, &used) != 2 || head[used] != ' ' ||
        index >= count)
        return false;
    size_t at = (size_t)used + 1;
    *ret_is_last = index + 1 == count;
    if (index < call->parts)
        return true; /* our answer was lost */
    if (index > call->parts || buffer_append(&call->result, part + at, length - at) < 0)
        return false;
    call->parts++;
    return true;
}

bool sent_calls_take_part(struct sent_calls *calls, uint64_t number, const char *part,
                          size_t length)
{
    bool is_last = false;
    pthread_mutex_lock(&calls->mutex);
    struct sent_call **at = find(calls, number);
    struct sent_call *call = *at;
    bool is_good = call != NULL && add_part(call, part, length, &is_last);
    if (is_good)
        call->heard_at = clock_now();
    if (is_good && is_last)
        *at = call->next;
    pthread_mutex_unlock(&calls->mutex);
    if (is_good && is_last) {
        write_result(call);
        free_call(call);
    } else if (!is_good) {
        sent_calls_end(calls, number, "lost", "its result is longer than 16 MiB, or damaged");
    }
    /* Of a call that has ended, the last answer may not have arrived. */
    return is_good || call == NULL;
}

static bool end(struct sent_call *call, const char *kind, const char *reason)
{
    OWNED(buffer_release) struct buffer line = BUFFER(ENDS_MAX);
    struct json_writer *writer = NULL;
    if (call == NULL)
        return false;
    char plain[FAULT_TEXT_MAX]; /* a worker may have written it: untrusted */
    snprintf(plain, sizeof(plain), "%s", reason);
    utf8_make_plain(plain, false);
    if (json_writer_open(&line, &writer) < 0)
        lines_give_up();
    json_begin_object(writer);
    json_number_member(writer, "id", (int64_t)call->number);
    json_text_member(writer, kind, plain);
    json_end_object(writer);
    if (json_writer_close(writer) < 0)
        lines_give_up();
    lines_write(line.data, line.length);
    free_call(call);
    return true;
}

bool sent_calls_end(struct sent_calls *calls, uint64_t number, const char *kind, const char *reason)
{
    return end(take_out(calls, number, true), kind, reason);
}

bool sent_calls_refuse(struct sent_calls *calls, uint64_t number, const char *reason)
{
    return end(take_out(calls, number, false), "refused", reason);
}

static void copy(const struct sent_call *call, struct sent_call *ret_call)
{
    *ret_call = *call;
    ret_call->text = ret_call->result = BUFFER(0);
}

bool sent_calls_forget(struct sent_calls *calls, uint64_t number, struct sent_call *ret_call)
{
    struct sent_call *call = take_out(calls, number, true);
    if (call == NULL)
        return false;
    copy(call, ret_call);
    free_call(call);
    return true;
}

bool sent_calls_next(struct sent_calls *calls, uint64_t after, struct sent_call *ret_call)
{
    pthread_mutex_lock(&calls->mutex);
    const struct sent_call *call = calls->first;
    while (call != NULL && call->number <= after)
        call = call->next;
    if (call != NULL)
        copy(call, ret_call);
    pthread_mutex_unlock(&calls->mutex);
    return call != NULL;
}
