/* sandbox://sessions: the sessions that are alive, for people and programs. */
#include "mcp/resources/resource.h"
#include "sandbox/base/owned.h"

#include <errno.h>

#define SESSIONS_URI "sandbox://sessions"
#define SESSIONS_TEXT_MAX 65536

/* Calls that can be gone back to: of one language, as yet. */
static void write_checkpoints(struct json_writer *writer, const struct live_session *live)
{
    uint32_t calls[SESSION_CHECKPOINTS_MAX];
    json_key(writer, "checkpoints");
    json_begin_array(writer);
    for (unsigned lane = 0; lane < live->language_count; lane++) {
        size_t count = session_checkpoints(live->session, lane, calls);
        for (size_t i = 0; i < count; i++)
            json_number(writer, calls[i]);
    }
    json_end_array(writer);
}

static void write_session(struct json_writer *writer, const struct session_entry *entry)
{
    int64_t now = clock_now();
    json_begin_object(writer);
    json_text_member(writer, "id", entry->handle);
    json_key(writer, "languages");
    json_begin_array(writer);
    for (size_t i = 0; i < entry->live.language_count; i++)
        json_text(writer, entry->live.languages[i]->name);
    json_end_array(writer);
    write_checkpoints(writer, &entry->live);
    json_text_member(writer, "state", entry->pending > 0 ? "busy" : "idle");
    json_number_member(writer, "calls", (int64_t)entry->calls);
    json_number_member(writer, "age_seconds", (now - entry->began_at) / NANOSECONDS_PER_SECOND);
    json_number_member(writer, "unused_seconds",
                       entry->pending > 0 ? 0 : (now - entry->used_at) / NANOSECONDS_PER_SECOND);
    json_key(writer, "peak_memory_bytes");
    if (entry->peak_memory_bytes > 0)
        json_number(writer, entry->peak_memory_bytes);
    else
        json_null(writer);
    json_end_object(writer);
}

static int compose(const struct context *context, unsigned owner, struct buffer *text)
{
    const struct settings *settings = context->settings;
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_number_member(writer, "most", (int64_t)settings->sessions);
    json_key(writer, "idle_seconds");
    json_double(writer, (double)settings->session_idle_ms / 1000);
    json_key(writer, "sessions");
    json_begin_array(writer);
    for (const struct session_entry *entry = context->sessions.entries; entry; entry = entry->next)
        if (entry->owner == owner)
            write_session(writer, entry);
    json_end_array(writer);
    json_end_object(writer);
    return json_writer_close(writer);
}

static bool read_sessions(struct context *context, const struct json_value *uri,
                          const struct reply *reply)
{
    if (!json_is(uri, SESSIONS_URI))
        return false;
    OWNED(buffer_release) struct buffer text = BUFFER(SESSIONS_TEXT_MAX);
    OWNED(buffer_release) struct buffer quoted = BUFFER(2 * SESSIONS_TEXT_MAX);
    int r = compose(context, resource_owner(reply), &text);
    const struct resource_contents contents = {
        .uri = uri, .type = "application/json", .bytes = &text, .quoted = &quoted};
    if (r < 0 || resource_quote(&text, &quoted) < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "no memory for the list of sessions");
    else
        resource_answer_contents(reply, &contents);
    return true;
}

const struct resource resource_sessions = {
    .uri = SESSIONS_URI,
    .name = "sessions",
    .title = "Sessions",
    .description = "The sessions that are alive: their calls, their memory, and since when they "
                   "have gone unused",
    .type = "application/json",
    .read = read_sessions,
};
