#include "interpreter/result/session_end.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/session_text.h"
#include "sandbox/base/owned.h"

/* A negative `lane` was none's. */
static int name_end(const struct live_session *live, int lane, struct buffer *text)
{
    bool is_one_of_several =
        live->language_count > 1 && lane >= 0 && (size_t)lane < live->language_count;
    return is_one_of_several
               ? buffer_format(text,
                               "ended with the interpreter of %s: ", live->languages[lane]->title)
               : buffer_append_text(text, "ended with its process: ");
}

/* As a sentence that begins with "it" goes on. */
void session_end_note(void *data, int status, const struct run_result *result,
                      const struct fault *fault)
{
    struct session_entry *entry = data;
    OWNED(buffer_release) struct buffer text = BUFFER(SESSION_REASON_SIZE);
    bool was_told_to_stop = status == 0 && (result->outcome == OUTCOME_TIMED_OUT ||
                                            result->outcome == OUTCOME_OUTPUT_LIMIT ||
                                            result->outcome == OUTCOME_CANCELLED);
    if (entry->is_closed)
        buffer_append_text(&text, "was closed");
    else if (status < 0)
        buffer_format(&text, "ended: %.100s", fault->text);
    else if (was_told_to_stop)
        buffer_append_text(&text, "was ended, because it did not heed an interrupt");
    else if (name_end(&entry->live, result->ended_lane, &text) == 0)
        outcome_text_describe(result, &text);
    const char *reason = buffer_string(&text);
    session_table_note_end(entry, reason != NULL ? reason : "ended");
}
