#include "interpreter/session_table.h"

#include "interpreter/session_time.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/meminfo.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

_Static_assert(SESSION_HANDLE_LETTERS + sizeof(SESSION_HANDLE_PREFIX) <= SESSION_HANDLE_SIZE,
               "a handle has room");

static void on_sweep(struct loop_timer *timer);

struct session_table session_table_of(struct loop *loop, const struct settings *settings)
{
    return (struct session_table){.loop = loop, .settings = settings, .sweep = {.fire = on_sweep}};
}

static void take_out(struct session_entry *entry)
{
    struct session_table *table = entry->table;
    void (*gone)(void *data) = entry->gone;
    void *gone_data = entry->gone_data;
    LIST_REMOVE(table->entries, entry);
    table->count--;
    if (table->count == 0 && table->sweep.armed)
        loop_disarm(table->loop, &table->sweep);
    changes_seen_release(&entry->changed);
    live_session_free_variables(&entry->live.environment);
    if (entry->beside != NULL)
        entry->release_beside(entry->beside);
    free(entry);
    if (gone != NULL)
        gone(gone_data);
}

void session_table_release(struct session_table *table)
{
    while (table->entries != NULL)
        take_out(table->entries);
}

struct session_entry *session_table_find(const struct session_table *table, unsigned owner,
                                         const char *handle)
{
    struct session_entry *entry = table->entries;
    while (entry != NULL && (entry->owner != owner || strcmp(entry->handle, handle) != 0))
        entry = entry->next;
    return entry;
}

/* 1..UINT32_MAX in decimal digits, or 0. */
static uint32_t number_of(const char *text)
{
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9' && number <= UINT32_MAX; text++)
        number = 10 * number + (uint64_t)(*text - '0');
    return *text == '\0' && number <= UINT32_MAX ? (uint32_t)number : 0;
}

int session_handle_read(const char *text, char ret_handle[SESSION_HANDLE_SIZE],
                        uint32_t *ret_back_to, struct fault *fault)
{
    size_t length = strcspn(text, "@");
    snprintf(ret_handle, SESSION_HANDLE_SIZE, "%.*s",
             length < SESSION_HANDLE_SIZE ? (int)length : SESSION_HANDLE_SIZE, text);
    *ret_back_to = text[length] == '@' ? number_of(text + length + 1) : 0;
    if (text[length] != '@' || (*ret_back_to > 0 && strncmp(text, SESSION_HANDLE_PREFIX,
                                                            strlen(SESSION_HANDLE_PREFIX)) == 0))
        return 0;
    fault_identify(fault, "invalid_parameter");
    return fault_set(
        fault, EINVAL,
        "\"%s\" must be the handle of a session, @, and the number of one of its calls",
        visible_name(text).text);
}

const struct session_end *session_table_find_end(const struct session_table *table, unsigned owner,
                                                 const char *handle)
{
    size_t count =
        table->ended_count < SESSIONS_REMEMBERED_MAX ? table->ended_count : SESSIONS_REMEMBERED_MAX;
    for (size_t i = 0; i < count; i++) {
        if (table->ended[i].owner == owner && strcmp(table->ended[i].handle, handle) == 0)
            return &table->ended[i];
    }
    return NULL;
}

void session_table_note_end(struct session_entry *entry, const char *reason)
{
    struct session_table *table = entry->table;
    struct session_end *end = &table->ended[table->ended_count++ % SESSIONS_REMEMBERED_MAX];
    *end = (struct session_end){
        .owner = entry->owner, .kept = live_session_kept(&entry->live), .calls = entry->calls};
    memcpy(end->handle, entry->handle, sizeof(end->handle));
    snprintf(end->reason, sizeof(end->reason), "%s", reason);
    take_out(entry);
}

void session_table_drop(struct session_entry *entry)
{
    if (entry->live.session != NULL)
        session_end(entry->live.session);
    take_out(entry);
}

static void end_session(struct session_entry *entry, const char *reason)
{
    session_end(entry->live.session);
    session_table_note_end(entry, reason);
}

/* When it ends unless a call comes. */
static int64_t end_of_idle(const struct session_entry *entry)
{
    return entry->used_at + entry->idle_ms * NANOSECONDS_PER_MILLISECOND;
}

static int64_t end_of_life(const struct session_entry *entry)
{
    return entry->began_at + SESSION_LIFE_MAX_MS * NANOSECONDS_PER_MILLISECOND;
}

static void arm_sweep(struct session_table *table)
{
    int64_t next = clock_now() + SESSIONS_SWEEP_MS * NANOSECONDS_PER_MILLISECOND;
    bool is_any_idle = false;
    for (const struct session_entry *entry = table->entries; entry; entry = entry->next) {
        if (entry->pending > 0)
            continue;
        int64_t end =
            end_of_idle(entry) < end_of_life(entry) ? end_of_idle(entry) : end_of_life(entry);
        next = end < next ? end : next;
        is_any_idle = true;
    }
    if (is_any_idle && table->loop != NULL)
        loop_arm(table->loop, &table->sweep, next);
}

/* The idle one that has gone unused for longest, of one owner or of all (NULL); or NULL. */
static struct session_entry *least_used(const struct session_table *table, const unsigned *owner)
{
    struct session_entry *least = NULL;
    for (struct session_entry *entry = table->entries; entry != NULL; entry = entry->next) {
        bool is_meant = owner == NULL || entry->owner == *owner;
        if (is_meant && entry->pending == 0 && (least == NULL || entry->used_at < least->used_at))
            least = entry;
    }
    return least;
}

/* One at a time, while this computer has hardly any memory left: runs would be killed otherwise. */
static void relieve_machine(struct session_table *table)
{
    struct session_entry *least = least_used(table, NULL);
    if (least != NULL && meminfo_read().is_nearly_exhausted)
        end_session(least, "ended because this computer had almost no memory left");
}

static void on_sweep(struct loop_timer *timer)
{
    struct session_table *table = container_of(timer, struct session_table, sweep);
    int64_t now = clock_now();
    LIST_EACH (struct session_entry, entry, table->entries) {
        char reason[SESSION_REASON_SIZE];
        if (entry->pending > 0)
            continue;
        if (now >= end_of_idle(entry)) {
            char time[SESSION_TIME_SIZE];
            session_time_describe(entry->idle_ms, time);
            snprintf(reason, sizeof(reason), "ended after %s without a call", time);
            end_session(entry, reason);
        } else if (now >= end_of_life(entry)) {
            end_session(entry, "ended after 12 hours, the longest that a session lasts");
        }
    }
    relieve_machine(table);
    arm_sweep(table);
}

void session_entry_make_room(struct session_entry *entry, char ret_displaced[SESSION_HANDLE_SIZE])
{
    const struct session_table *table = entry->table;
    ret_displaced[0] = '\0';
    if (table->count <= table->settings->sessions)
        return;
    entry->pending++; /* it does not end for itself */
    struct session_entry *least = least_used(table, &entry->owner);
    entry->pending--;
    if (least == NULL)
        return;
    memcpy(ret_displaced, least->handle, SESSION_HANDLE_SIZE);
    end_session(least, "ended to make room for another one");
}

/* Without letters and digits that look alike: RFC 4648 has none of 0, 1, 8 and 9. */
static int make_handle(char handle[SESSION_HANDLE_SIZE])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char random[SESSION_HANDLE_LETTERS];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    int length = snprintf(handle, SESSION_HANDLE_SIZE, SESSION_HANDLE_PREFIX);
    for (size_t i = 0; i < sizeof(random); i++)
        handle[length++] = letters[random[i] % 32];
    handle[length] = '\0';
    return 0;
}

/* By anyone's session, or one that is remembered. */
static bool is_taken(const struct session_table *table, const char *handle)
{
    const struct session_entry *entry = table->entries;
    while (entry != NULL && strcmp(entry->handle, handle) != 0)
        entry = entry->next;
    bool is_remembered = false;
    for (size_t i = 0; i < SESSIONS_REMEMBERED_MAX; i++)
        is_remembered |= strcmp(table->ended[i].handle, handle) == 0;
    return entry != NULL || is_remembered;
}

int session_table_add(struct session_table *table, unsigned owner, struct session_entry **ret_entry,
                      struct fault *fault)
{
    int r = 0;
    if (table->count >= table->settings->sessions && least_used(table, &owner) == NULL)
        return -EAGAIN;
    struct session_entry *entry = calloc(1, sizeof(*entry));
    if (entry == NULL)
        return fault_set(fault, ENOMEM, "starting a session: %m");
    *entry = (struct session_entry){
        .table = table,
        .owner = owner,
        .began_at = clock_now(),
        .idle_ms = table->settings->session_idle_ms,
        .used_at = clock_now(),
    };
    do {
        r = make_handle(entry->handle);
    } while (r == 0 && is_taken(table, entry->handle));
    if (r < 0) {
        free(entry);
        return fault_set(fault, -r, "there are no random numbers for the handle of a session: %m");
    }
    LIST_PREPEND(table->entries, entry);
    table->count++;
    *ret_entry = entry;
    return 0;
}

void session_entry_begin_call(struct session_entry *entry)
{
    entry->pending++;
}

void session_entry_end_call(struct session_entry *entry, const struct run_result *result)
{
    entry->calls++;
    if (result != NULL)
        entry->peak_memory_bytes = result->peak_memory_bytes;
    session_entry_end_use(entry);
}

void session_entry_end_use(struct session_entry *entry)
{
    entry->pending--;
    entry->used_at = clock_now();
    arm_sweep(entry->table);
}
