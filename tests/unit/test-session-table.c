#include "interpreter/session_table.h"

#include "interpreter/session_text.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* In the place of sandbox/session.c: the table never looks into a session. */
static size_t ended;
static char sessions[SESSIONS_MAX];

void session_end(struct session *session)
{
    assert_non_null(session);
    ended++;
}

struct place {
    struct loop loop;
    struct settings settings;
    struct session_table table;
};

static int place_make(void **state)
{
    static struct place place;
    place = (struct place){.settings = {.sessions = 2, .session_idle_ms = 50}};
    ended = 0;
    if (loop_open(&place.loop) < 0)
        return -1;
    place.table = session_table_of(&place.loop, &place.settings);
    *state = &place;
    return 0;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    session_table_release(&place->table);
    loop_close(&place->loop);
    return 0;
}

static struct session_entry *add_displacing(struct place *place, const char *language,
                                            char displaced[SESSION_HANDLE_SIZE])
{
    struct session_entry *entry = NULL;
    struct fault fault = {0};
    assert_int_equal(session_table_add(&place->table, 0, &entry, &fault), 0);
    entry->live = (struct live_session){.session = (struct session *)&sessions[place->table.count],
                                        .languages = {language_find(language)},
                                        .language_count = 1};
    session_entry_make_room(entry, displaced);
    return entry;
}

static struct session_entry *add(struct place *place, const char *language)
{
    char displaced[SESSION_HANDLE_SIZE];
    return add_displacing(place, language, displaced);
}

static void handles_are_of_one_form_and_never_the_same(void **state)
{
    struct place *place = *state;
    static const char *const known[] = {"python", "javascript", "bash"};
    char seen[3][SESSION_HANDLE_SIZE];
    for (size_t i = 0; i < 3; i++) {
        const struct session_entry *entry = add(place, known[i]);
        memcpy(seen[i], entry->handle, sizeof(seen[i]));
        assert_memory_equal(entry->handle, "s-", 2);
        assert_int_equal(strlen(entry->handle), 2 + SESSION_HANDLE_LETTERS);
        assert_int_equal(strspn(entry->handle + 2, "abcdefghijklmnopqrstuvwxyz234567"),
                         SESSION_HANDLE_LETTERS);
        assert_ptr_equal(session_table_find(&place->table, 0, entry->handle), entry);
        assert_null(session_table_find_end(&place->table, 0, entry->handle));
    }
    assert_string_not_equal(seen[0], seen[1]);
    assert_string_not_equal(seen[1], seen[2]);
}

static void the_least_recently_used_gives_way_and_is_remembered(void **state)
{
    struct place *place = *state;
    char displaced[SESSION_HANDLE_SIZE];
    struct session_entry *one = add(place, "python");
    struct session_entry *two = add(place, "python");
    two->used_at = one->used_at - 1;
    char expected[SESSION_HANDLE_SIZE];
    memcpy(expected, two->handle, sizeof(expected));
    add_displacing(place, "bash", displaced);
    assert_string_equal(displaced, expected);
    assert_int_equal(ended, 1);
    assert_null(session_table_find(&place->table, 0, expected));
    const struct session_end *end = session_table_find_end(&place->table, 0, expected);
    assert_string_equal(end->reason, "ended to make room for another one");
    assert_string_equal(end->kept, "variables and files");
    struct fault fault = {0};
    assert_int_equal(session_text_explain_unknown(&place->table, 0, expected, &fault), -ENOENT);
    assert_non_null(strstr(
        fault.text,
        "it ended to make room for another one. Its variables and files are gone. Alive: s-"));
    assert_non_null(strstr(fault.text, " (0 calls, 0 s ago). Start another with \"new\"."));
}

static void one_that_cannot_be_opened_displaces_none(void **state)
{
    struct place *place = *state;
    const struct session_entry *kept[] = {add(place, "python"), add(place, "python")};
    struct session_entry *entry = NULL;
    struct fault fault = {0};
    assert_int_equal(session_table_add(&place->table, 0, &entry, &fault), 0);
    session_table_drop(entry);
    assert_int_equal(ended, 0);
    for (size_t i = 0; i < 2; i++)
        assert_ptr_equal(session_table_find(&place->table, 0, kept[i]->handle), kept[i]);
}

static void the_newest_does_not_give_way_for_itself(void **state)
{
    struct place *place = *state;
    char displaced[SESSION_HANDLE_SIZE];
    struct session_entry *old[] = {add(place, "python"), add(place, "python")};
    old[0]->used_at = old[1]->used_at = INT64_MAX;
    const struct session_entry *newest = add_displacing(place, "python", displaced);
    assert_int_equal(ended, 1);
    assert_string_not_equal(displaced, newest->handle);
    assert_ptr_equal(session_table_find(&place->table, 0, newest->handle), newest);
}

static void busy_sessions_do_not_give_way(void **state)
{
    struct place *place = *state;
    session_entry_begin_call(add(place, "python"));
    session_entry_begin_call(add(place, "python"));
    struct session_entry *none = NULL;
    struct fault fault = {0};
    assert_int_equal(session_table_add(&place->table, 0, &none, &fault), -EAGAIN);
    assert_null(none);
    assert_int_equal(ended, 0);
    assert_int_equal(session_text_explain_busy(&place->table, 0, &fault), -EAGAIN);
    assert_non_null(strstr(fault.text, "2 sessions are alive and busy"));
    assert_string_equal(fault.id, "sessions_busy");
}

static void on_watch(struct loop_timer *timer);
static struct place *watched;
static struct loop_timer watch = {.fire = on_watch};

/* Stops the loop once nothing is alive. */
static void on_watch(struct loop_timer *timer)
{
    if (watched->table.count == 0)
        loop_stop(&watched->loop);
    else
        loop_arm(&watched->loop, timer, clock_now() + NANOSECONDS_PER_MILLISECOND);
}

static void a_session_ends_after_its_time_without_a_call(void **state)
{
    struct place *place = *state;
    struct session_entry *entry = add(place, "bash");
    char handle[SESSION_HANDLE_SIZE];
    memcpy(handle, entry->handle, sizeof(handle));
    session_entry_begin_call(entry);
    assert_false(place->table.sweep.armed);
    int64_t begin = clock_now();
    session_entry_end_call(entry, NULL);
    assert_true(place->table.sweep.armed);
    watched = place;
    loop_arm(&place->loop, &watch, begin);
    assert_int_equal(loop_run(&place->loop), 0);
    assert_true(clock_now() - begin >= 50 * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(ended, 1);
    assert_false(place->table.sweep.armed);
    assert_string_equal(session_table_find_end(&place->table, 0, handle)->reason,
                        "ended after 0 s without a call");
    assert_int_equal(session_table_find_end(&place->table, 0, handle)->calls, 1);
}

static void ended_sessions_are_remembered_up_to_a_limit(void **state)
{
    struct place *place = *state;
    char first[SESSION_HANDLE_SIZE] = "";
    char last[SESSION_HANDLE_SIZE] = "";
    for (size_t i = 0; i <= SESSIONS_REMEMBERED_MAX; i++) {
        struct session_entry *entry = add(place, "python");
        memcpy(i == 0 ? first : last, entry->handle, SESSION_HANDLE_SIZE);
        session_table_note_end(
            entry,
            "ended with a reason that is so long that it has to be cut somewhere, as a sandbox may say a lot of what kept it from working, and nobody reads that much of it anyway");
    }
    assert_int_equal(ended, 0); /* they had ended by themselves */
    assert_null(session_table_find_end(&place->table, 0, first));
    assert_int_equal(strlen(session_table_find_end(&place->table, 0, last)->reason),
                     SESSION_REASON_SIZE - 1);
    struct fault fault = {0};
    assert_int_equal(session_text_explain_unknown(&place->table, 0, first, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, ". None is alive. Start another"));
}

static void only_what_is_alive_is_told_to_be(void **state)
{
    struct place *place = *state;
    static const char *const table[][2] = {
        {NULL, ". None is alive. Start another"},
        {"bash", ". Alive: s-"},
        {"python", ". Alive: s-"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct session_entry *entry = table[i][0] != NULL ? add(place, table[i][0]) : NULL;
        struct fault fault = {0};
        assert_int_equal(session_text_explain_unknown(&place->table, 0, "s-aaaaaa", &fault),
                         -ENOENT);
        assert_non_null(strstr(fault.text, table[i][1]));
        if (entry != NULL)
            session_table_note_end(entry, "ended");
    }
}

static void what_is_kept_depends_on_the_languages(void **state)
{
    struct place *place = *state;
    struct session_entry *entry = add(place, "bash");
    assert_string_equal(live_session_kept(&entry->live), "files, directory and exported variables");
    entry->live.languages[entry->live.language_count++] = language_find("python");
    assert_string_equal(live_session_kept(&entry->live), "variables and files");
}

static const char *note_of(const struct session_view *view, struct buffer *text)
{
    buffer_release(text);
    assert_int_equal(session_text_note(view, text), 0);
    return buffer_string(text);
}

static void results_say_what_is_kept_and_what_is_lost(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(1024);
    struct session_view view = {.handle = "s-abcdef",
                                .is_kept = true,
                                .kept = "variables and files",
                                .calls = 1,
                                .displaced = ""};
    assert_string_equal(
        note_of(&view, &text),
        "[session s-abcdef: 1 call, variables and files kept; give it as session to go on]");
    view.displaced = "s-uvwxyz";
    view.calls = 2;
    assert_string_equal(
        note_of(&view, &text),
        "[session s-uvwxyz was the least recently used and ended to make room]\n"
        "[session s-abcdef: 2 calls, variables and files kept; give it as session to go on]");
    view = (struct session_view){.handle = "s-abcdef",
                                 .kept = "files",
                                 .reason = "ended with its process: killed by SIGKILL",
                                 .displaced = ""};
    assert_string_equal(
        note_of(&view, &text),
        "[session s-abcdef is lost, with its files: it ended with its process: killed by SIGKILL. Start another with \"new\"]");
}

static void the_end_of_a_call_never_claims_more_than_is_known(void **state)
{
    (void)state;
    static const struct {
        bool is_kept;
        const char *kept;
        enum run_outcome outcome;
        const char *told;
        enum cell_interrupt interrupt;
    } table[] = {
        {true, "variables and files", OUTCOME_EXITED, ""},
        {true, "variables and files", OUTCOME_TIMED_OUT,
         "; it was interrupted, and the variables it had are kept"},
        {true, "files", OUTCOME_TIMED_OUT, "; the files are kept"},
        {false, "variables and files", OUTCOME_TIMED_OUT,
         "; it did not heed the interrupt and was ended: the session's variables and files are lost"},
        {false, "variables and files", OUTCOME_OUT_OF_MEMORY,
         "; the session's variables and files are lost"},
        {false, "files", OUTCOME_SIGNALED, "; the session's files are lost"},
        {true, "variables and files", OUTCOME_TIMED_OUT,
         "; it was interrupted, and the variables it had are kept", INTERRUPT_HEEDED},
        {true, "variables and files", OUTCOME_TIMED_OUT,
         "; the code caught the interrupt and went on: the result may be incomplete",
         INTERRUPT_CAUGHT},
        {true, "variables and files", OUTCOME_OUTPUT_LIMIT,
         "; the code caught the interrupt and went on: the result may be incomplete",
         INTERRUPT_CAUGHT},
        {true, "files", OUTCOME_OUTPUT_LIMIT, "; the files are kept", INTERRUPT_HEEDED},
        {false, "variables and files", OUTCOME_TIMED_OUT,
         "; its process ended at the interrupt: the session's variables and files are lost",
         INTERRUPT_FATAL},
        {false, "files", OUTCOME_OUTPUT_LIMIT,
         "; its process ended at the interrupt: the session's files are lost", INTERRUPT_FATAL},
        {true, "variables and files", OUTCOME_EXITED, "", INTERRUPT_NONE},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(1024);
        const struct session_view view = {.handle = "x",
                                          .is_kept = table[i].is_kept,
                                          .kept = table[i].kept,
                                          .has_variables = table[i].kept[0] == 'v',
                                          .displaced = ""};
        const struct run_result result = {.outcome = table[i].outcome,
                                          .interrupt = table[i].interrupt};
        assert_int_equal(session_text_end(&view, &result, &text), 0);
        assert_string_equal(text.length > 0 ? buffer_string(&text) : "", table[i].told);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(handles_are_of_one_form_and_never_the_same),
        TEST(the_least_recently_used_gives_way_and_is_remembered),
        TEST(one_that_cannot_be_opened_displaces_none),
        TEST(the_newest_does_not_give_way_for_itself),
        TEST(busy_sessions_do_not_give_way),
        TEST(a_session_ends_after_its_time_without_a_call),
        TEST(ended_sessions_are_remembered_up_to_a_limit),
        TEST(only_what_is_alive_is_told_to_be),
        TEST(what_is_kept_depends_on_the_languages),
        cmocka_unit_test(results_say_what_is_kept_and_what_is_lost),
        cmocka_unit_test(the_end_of_a_call_never_claims_more_than_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
