#include "interpreter/session_text.h"

#include "interpreter/session_time.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* "py-9q2m4d (5 calls, 2 min ago), sh-..."; of one owner, and of one language or all. */
static void list_alive(const struct session_table *table, unsigned owner,
                       const struct language *language, struct buffer *text)
{
    size_t shown = 0;
    for (const struct session_entry *entry = table->entries; entry; entry = entry->next) {
        if (entry->owner != owner || (language != NULL && entry->language != language) ||
            shown == SHOWN_MAX_ALIVE)
            continue;
        buffer_append_text(text, shown++ > 0 ? ", " : "");
        describe_alive(entry, text);
    }
}

/* What is alive, and what to do. */
static int explain(const struct session_table *table, unsigned owner,
                   const struct language *language, const char *what, struct fault *fault)
{
    OWNED(buffer_release) struct buffer same = BUFFER(LIST_MAX);
    OWNED(buffer_release) struct buffer others = BUFFER(LIST_MAX);
    list_alive(table, owner, language, &same);
    if (same.length == 0 && language != NULL)
        list_alive(table, owner, NULL, &others);
    const char *list = same.length > 0     ? buffer_string(&same)
                       : others.length > 0 ? buffer_string(&others)
                                           : NULL;
    fault_identify(fault, "no_session");
    if (others.length > 0)
        return fault_set(
            fault, ENOENT,
            "%s None of %s is alive, but of other tools: %s. Start another with \"new\".", what,
            language->title, list != NULL ? list : "some");
    return fault_set(fault, ENOENT, "%s %s%s. Start another with \"new\".", what,
                     list != NULL ? "Alive: " : "None is alive", list != NULL ? list : "");
}

static int explain_other(const struct session_entry *entry, const struct language *language,
                         struct fault *fault)
{
    fault_identify(fault, "no_session");
    return fault_set(fault, ENOENT,
                     "%s is a session of %s, not of %s: use the tool for %s, or start one here "
                     "with \"new\".",
                     entry->handle, entry->language->title, language->title,
                     entry->language->title);
}

int session_text_explain_unknown(const struct session_table *table, unsigned owner,
                                 const char *handle, const struct language *language,
                                 struct fault *fault)
{
    const struct session_entry *entry = session_table_find(table, owner, handle);
    if (entry != NULL)
        return explain_other(entry, language, fault);
    char what[FAULT_TEXT_MAX / 2];
    const struct session_end *end = session_table_find_end(table, owner, handle);
    if (end != NULL)
        snprintf(what, sizeof(what), "There is no session %s: it %s. Its %s are gone.", end->handle,
                 end->reason, end->language->session->kept);
    else
        snprintf(what, sizeof(what), "There is no session %s.", visible_name(handle).text);
    return explain(table, owner, language, what, fault);
}

int session_text_explain_busy(const struct session_table *table, unsigned owner,
                              struct fault *fault)
{
    OWNED(buffer_release) struct buffer alive = BUFFER(LIST_MAX);
    list_alive(table, owner, NULL, &alive);
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
    return buffer_format(text,
                         "[session %s: %" PRIu64 " call%s, %s kept; give it as session to go on]",
                         view->handle, view->calls, view->calls == 1 ? "" : "s", view->kept);
}

static bool was_interrupted(const struct run_result *result)
{
    return result->outcome == OUTCOME_TIMED_OUT || result->outcome == OUTCOME_OUTPUT_LIMIT;
}

int session_text_end(const struct session_view *view, const struct run_result *result,
                     struct buffer *text)
{
    bool has_variables = strncmp(view->kept, "variables", strlen("variables")) == 0;
    const char *why = !was_interrupted(result) ? ""
                      : result->interrupt == INTERRUPT_FATAL
                          ? "its process ended at the interrupt: "
                          : "it did not heed the interrupt and was ended: ";
    if (!view->is_kept)
        return buffer_format(text, "; %sthe session's %s are lost", why, view->kept);
    if (!was_interrupted(result))
        return 0;
    if (result->interrupt == INTERRUPT_CAUGHT)
        return buffer_append_text(text,
                                  "; the code caught the interrupt and went on: the result may "
                                  "be incomplete");
    return has_variables
               ? buffer_append_text(text, "; it was interrupted, and the variables it had are kept")
               : buffer_append_text(text, "; the files are kept");
}
