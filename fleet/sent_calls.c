#include "fleet/sent_calls.h"

#include "fleet/lines.h"
#include "sandbox/base/json.h"
#include "sandbox/base/list.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define RESULT_MAX (LINE_IN_MAX - KIBIBYTE) /* so that our process takes the line */
#define ENDS_MAX (64 * KIBIBYTE)
#define REASON_SIZE 512
#define DAMAGED "its result is longer than 16 MiB, or damaged"

/* With the mutex. */
static struct sent_call *find(struct sent_calls *calls, uint64_t number)
{
    struct sent_call *call = calls->first;
    while (call != NULL && call->number != number)
        call = call->next;
    return call;
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
    struct sent_call *call = find(calls, number);
    if (call != NULL && call->is_taken && !even_if_taken)
        call = NULL;
    if (call != NULL)
        LIST_REMOVE(calls->first, call);
    pthread_mutex_unlock(&calls->mutex);
    return call;
}

/* The newest last: the list is in the order of the numbers. */
int sent_calls_add(struct sent_calls *calls, const struct new_call *new, struct buffer *text)
{
    struct sent_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return -ENOMEM;
    *call = (struct sent_call){
        .number = new->number,
        .environment = new->environment,
        .wall_ms = new->wall_ms,
        .text = *text,
        .result = BUFFER(RESULT_MAX),
    };
    *text = BUFFER(0);
    pthread_mutex_lock(&calls->mutex);
    LIST_APPEND(calls->first, call);
    pthread_mutex_unlock(&calls->mutex);
    return 0;
}

int sent_calls_send(struct sent_calls *calls, uint64_t number, struct buffer *text,
                    const struct environment_name **ret_environment)
{
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = find(calls, number);
    int r = call == NULL || call->stored_at != 0 ? -ENOENT : 0;
    if (r == 0) {
        call->sent_at = clock_now();
        *text = BUFFER(call->text.length);
        *ret_environment = call->environment;
        r = buffer_append(text, call->text.data, call->text.length);
    }
    pthread_mutex_unlock(&calls->mutex);
    return r;
}

void sent_calls_note_asked(struct sent_calls *calls, uint64_t number)
{
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = find(calls, number);
    if (call != NULL)
        call->asked_at = clock_now();
    pthread_mutex_unlock(&calls->mutex);
}

/* Of a call that nobody has taken. */
static void note_place(struct sent_calls *calls, const struct report *report)
{
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = find(calls, report->number);
    if (call != NULL && report->word->kind == WORD_STORED) {
        call->stored_at = clock_now();
        call->absences = 0;
        buffer_release(&call->text);
    } else if (call != NULL) {
        calls->queue_most = report->word->count;
        call->absences += call->absences < UINT_MAX;
    }
    pthread_mutex_unlock(&calls->mutex);
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

/* With the mutex. Whether the worker may run it: the first one that asks. */
static bool grant(struct sent_call *call, const struct report *report)
{
    char line[64];
    if (call->is_taken)
        return false;
    call->is_taken = true;
    call->taken_at = call->heard_at = clock_now();
    snprintf(call->worker, sizeof(call->worker), "%s", report->worker);
    snprintf(call->name, sizeof(call->name), "%.*s", (int)report->word->length, report->word->text);
    utf8_make_plain(call->name, false);
    int length = snprintf(line, sizeof(line), "{\"id\":%" PRIu64 ",\"taken\":true}", call->number);
    lines_write(line, (size_t)length); /* with the mutex: before the line of its end */
    return true;
}

enum part_state { PART_TAKEN, PART_LAST, PART_WITHOUT_ROOM, PART_BAD };

bool sent_call_waits_for_room(const struct sent_call *call)
{
    return call->came_at != 0 && call->parts == 0;
}

/* With the mutex: beside what is on its way, and what has waited for longer. */
static bool has_room(const struct sent_calls *calls, const struct sent_call *call)
{
    size_t room = call->room;
    for (const struct sent_call *other = calls->first; other != NULL; other = other->next)
        if (other->parts > 0 || (other->came_at != 0 && other->came_at < call->came_at))
            room += other->room;
    return room <= RESULTS_ON_THE_WAY_MAX;
}

/* With the mutex: before the first part is kept. A result of one part is never on its way. */
static enum part_state begin_result(const struct sent_calls *calls, struct sent_call *call,
                                    const struct word *part)
{
    if (part->index > 0 || (part->count > 1 && part->length > RESULT_MAX / (part->count - 1)))
        return PART_BAD;
    size_t whole = part->count * part->length;
    call->count = part->count;
    call->part_size = part->length;
    call->room = part->count == 1 ? 0 : whole < RESULT_MAX ? whole : RESULT_MAX;
    if (call->came_at == 0)
        call->came_at = clock_now();
    return call->room == 0 || has_room(calls, call) ? PART_TAKEN : PART_WITHOUT_ROOM;
}

/* With the mutex: keeps a part that comes in turn. */
static enum part_state add_part(const struct sent_calls *calls, struct sent_call *call,
                                const struct word *part)
{
    enum part_state begun = call->parts == 0 ? begin_result(calls, call, part) : PART_TAKEN;
    if (begun != PART_TAKEN)
        return begun;
    if (part->count != call->count)
        return PART_BAD;
    if (part->index < call->parts)
        return PART_TAKEN; /* our answer was lost */
    if (part->index > call->parts || part->length > call->part_size ||
        buffer_append(&call->result, part->text, part->length) < 0)
        return PART_BAD;
    call->parts++;
    return call->parts == call->count ? PART_LAST : PART_TAKEN;
}

/* A worker's result: what is no line of JSON would be one that nobody waits for, or two. */
static void end_with_result(struct sent_call *call)
{
    OWNED(buffer_release) struct buffer line = BUFFER(LINE_IN_MAX);
    int r = buffer_format(&line, "{\"id\":%" PRIu64 ",\"result\":", call->number);
    if (r == 0)
        r = buffer_append(&line, call->result.data, call->result.length);
    if (r == 0)
        r = buffer_append(&line, "}", 1);
    if (r == 0)
        r = word_check_line(line.data, line.length);
    if (r == -ENOMEM)
        lines_give_up();
    if (r < 0) {
        end(call, "lost", DAMAGED);
        return;
    }
    lines_write(line.data, line.length);
    free_call(call);
}

static void end_with_reason(struct sent_call *call, const struct word *lost)
{
    char reason[REASON_SIZE];
    snprintf(reason, sizeof(reason), "%.*s: it may have run in part", (int)lost->length,
             lost->text);
    end(call, "lost", reason);
}

/* Of a call that is in the list no more. */
static void end_by_word(struct sent_call *call, enum part_state part, const struct word *word)
{
    if (part == PART_LAST)
        end_with_result(call);
    else if (part == PART_BAD)
        end(call, "lost", DAMAGED);
    else
        end_with_reason(call, word);
}

/* With the mutex. A worker that cannot read a call says so before it has it. */
static bool may_say(const struct sent_call *call, const struct report *report)
{
    if (report->word->kind == WORD_TAKEN)
        return true;
    if (!call->is_taken)
        return report->word->kind == WORD_LOST;
    return strcmp(call->worker, report->worker) == 0;
}

enum sent_answer sent_calls_take_word(struct sent_calls *calls, const struct report *report)
{
    const struct word *word = report->word;
    enum part_state part = PART_TAKEN;
    bool goes_on = false;
    if (word->kind == WORD_STORED || word->kind == WORD_ABSENT) {
        note_place(calls, report);
        return SENT_NOTHING;
    }
    pthread_mutex_lock(&calls->mutex);
    struct sent_call *call = find(calls, report->number);
    bool is_heard = call != NULL && may_say(call, report);
    if (is_heard && word->kind == WORD_TAKEN)
        goes_on = grant(call, report);
    else if (is_heard && word->kind == WORD_PART)
        goes_on = (part = add_part(calls, call, word)) != PART_BAD;
    else if (is_heard)
        goes_on = word->kind == WORD_ALIVE;
    if (is_heard && goes_on)
        call->heard_at = clock_now();
    bool has_ended = is_heard && (part == PART_LAST || part == PART_BAD || word->kind == WORD_LOST);
    if (has_ended)
        LIST_REMOVE(calls->first, call);
    pthread_mutex_unlock(&calls->mutex);
    if (has_ended)
        end_by_word(call, part, word);
    if (part == PART_WITHOUT_ROOM)
        return SENT_NOTHING;
    /* Of a call that has ended, the last answer may not have arrived. */
    return goes_on || (call == NULL && word->kind == WORD_PART) ? SENT_GO : SENT_GONE;
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
