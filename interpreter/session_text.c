#include "interpreter/session_text.h"

#include "interpreter/session_time.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define LIST_MAX 1024
#define SHOWN_MAX_ALIVE 8 /* in an error */

static int describe_alive(const struct session_entry *entry, struct buffer *text)
{
    char time[SESSION_TIME_SIZE];
    session_time_describe((clock_now() - entry->used_at) / NANOSECONDS_PER_MILLISECOND, time);
    int r = buffer_format(text, "%s (%" PRIu64 " call%s, ", entry->handle, entry->calls,
                          entry->calls == 1 ? "" : "s");
    if (r == 0)
        r = entry->pending > 0 ? buffer_append_text(text, "busy)")
                               : buffer_format(text, "%s ago)", time);
    return r;
}

/* "s-9q2m4d (5 calls, 2 min ago), s-..."; of one owner. */
static void list_alive(const struct session_table *table, unsigned owner, struct buffer *text)
{
    size_t shown = 0;
    for (const struct session_entry *entry = table->entries; entry; entry = entry->next) {
        if (entry->owner != owner || shown == SHOWN_MAX_ALIVE)
            continue;
        buffer_append_text(text, shown++ > 0 ? ", " : "");
        describe_alive(entry, text);
    }
}

int session_text_explain_unknown(const struct session_table *table, unsigned owner,
                                 const char *handle, struct fault *fault)
{
    OWNED(buffer_release) struct buffer alive = BUFFER(LIST_MAX);
    char what[FAULT_TEXT_MAX / 2];
    const struct session_end *end = session_table_find_end(table, owner, handle);
    if (end != NULL)
        snprintf(what, sizeof(what), "There is no session %s: it %s. Its %s are gone.", end->handle,
                 end->reason, end->kept);
    else
        snprintf(what, sizeof(what), "There is no session %s.", visible_name(handle).text);
    list_alive(table, owner, &alive);
    const char *list = alive.length > 0 ? buffer_string(&alive) : NULL;
    fault_identify(fault, end != NULL ? "lost" : "no_session");
    return fault_set(fault, ENOENT, "%s %s%s. Start another with \"new\".", what,
                     list != NULL ? "Alive: " : "None is alive", list != NULL ? list : "");
}

int session_text_explain_busy(const struct session_table *table, unsigned owner,
                              struct fault *fault)
{
    OWNED(buffer_release) struct buffer alive = BUFFER(LIST_MAX);
    list_alive(table, owner, &alive);
    const char *list = buffer_string(&alive);
    size_t count = 0;
    for (const struct session_entry *entry = table->entries; entry; entry = entry->next)
        count += entry->owner == owner;
    fault_identify(fault, "sessions_busy");
    if (list == NULL || list[0] == '\0')
        return fault_set(fault, EAGAIN,
                         "the sessions of other clients take all the room that there is: try again "
                         "later, or leave \"session\" out");
    return fault_set(fault, EAGAIN,
                     "%zu session%s alive and busy, and there is room for no more: %s. Try again "
                     "when one of them has ended its call.",
                     count, count == 1 ? " is" : "s are", list != NULL ? list : "");
}

/* The interpreter of the call was lost, or had been. */
static int note_restored(const struct run_checkpoint *checkpoint, struct buffer *text)
{
    return checkpoint->was_between
               ? buffer_format(
                     text,
                     "its process had ended before this one: it began with the variables as "
                     "they were after call %" PRIu32 ", files kept",
                     checkpoint->restored_to)
               : buffer_format(
                     text,
                     "this one ended its process: variables are again as after call %" PRIu32
                     ", files as they are now",
                     checkpoint->restored_to);
}

/* It was as the call had asked for. */
static int note_return(const struct run_checkpoint *checkpoint, struct buffer *text)
{
    static const char *const files[FILES_COUNT] = {
        [FILES_LEFT] = "files as they were before this call",
        [FILES_BACK] = "files of the work directory, too",
        [FILES_TOO_MANY] = "files are not part of it: they were more than are copied",
        [FILES_FAILED] = "not all files: some could not be brought back",
    };
    return buffer_format(text, "this one went back to the state after call %" PRIu32 " (%s), ",
                         checkpoint->went_back, files[checkpoint->files]);
}

int session_text_note(const struct session_view *view, struct buffer *text)
{
    int r = 0;
    if (view->displaced[0] != '\0')
        r = buffer_format(text, "[session %s was the least recently used and ended to make room]\n",
                          view->displaced);
    if (r < 0)
        return r;
    if (!view->is_kept)
        return buffer_format(
            text, "[session %s is lost, with its %s: it %s. Start another with \"new\"]",
            view->handle, view->kept, view->reason != NULL ? view->reason : "ended");
    r = buffer_format(text, "[session %s: %" PRIu64 " call%s, ", view->handle, view->calls,
                      view->calls == 1 ? "" : "s");
    if (r == 0 && view->checkpoint.went_back > 0)
        r = note_return(&view->checkpoint, text);
    if (r == 0)
        r = view->checkpoint.restored_to > 0 ? note_restored(&view->checkpoint, text)
                                             : buffer_format(text, "%s kept", view->kept);
    return r < 0 ? r : buffer_append_text(text, "; give it as session to go on]");
}

static bool was_interrupted(const struct run_result *result)
{
    return result->outcome == OUTCOME_TIMED_OUT || result->outcome == OUTCOME_OUTPUT_LIMIT;
}

int session_text_end(const struct session_view *view, const struct run_result *result,
                     struct buffer *text)
{
    const char *why = !was_interrupted(result) ? ""
                      : result->interrupt == INTERRUPT_FATAL
                          ? "its process ended at the interrupt: "
                          : "it did not heed the interrupt and was ended: ";
    if (!view->is_kept)
        return buffer_format(text, "; %sthe session's %s are lost", why, view->kept);
    if (!was_interrupted(result))
        return 0;
    if (view->checkpoint.restored_to > 0 && !view->checkpoint.was_between)
        return buffer_format(text, "; %sonly this call is lost", why);
    if (result->interrupt == INTERRUPT_CAUGHT)
        return buffer_append_text(text,
                                  "; the code caught the interrupt and went on: the result may "
                                  "be incomplete");
    return view->has_variables
               ? buffer_append_text(text, "; it was interrupted, and the variables it had are kept")
               : buffer_append_text(text, "; the files are kept");
}
