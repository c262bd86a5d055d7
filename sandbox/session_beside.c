#include "sandbox/session_beside.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/folders/file_clock.h"
#include "sandbox/session_calls.h"
#include "sandbox/session_place.h"
#include "sandbox/session_steps.h"

#include <stddef.h>

void session_begin_commands(struct session *session)
{
    struct file_clock clock;
    if (session->folders_since.tv_sec == 0 && file_clock_read(&clock, NULL) == 0)
        session->folders_since = clock.after;
    session_extend(session, command_set_time_left(&session->commands));
    /* Not while something runs, which may have stopped processes of its own. */
    bool goes_on =
        session->is_stopped &&
        (session->commands.count + session->commands.stream_count > 0 || session->has_stopped_one);
    if (goes_on && !session_tell(session, WORD_RESUME))
        return;
    session->is_stopped &= !goes_on;
    command_set_begin(&session->commands);
}

void session_begin_added(struct session *session)
{
    session_calls_let_go(session->calls);
    if (session->has_place && session->stage > SESSION_IDLE && session->stage < SESSION_PAUSING)
        session_begin_commands(session);
    else
        session_stir(session);
}

void session_on_command_end(struct command_set *set)
{
    struct session *session = container_of(set, struct session, commands);
    bool has_ended =
        set->first == NULL; /* all; else there are connections, which go on when folders are read */
    bool is_over = has_ended ? session->has_place || !session->is_stopped
                             : session->has_place && !session->is_read;
    if (!session_has_work(session) && session->stage == SESSION_IDLE && is_over) {
        if (has_ended) /* init reports what has been used */
            session->is_stopped &= session->keeps_running;
        session_rest(session);
    } else if (command_set_has(set, false)) {
        session_begin_added(session);
    } else {
        session_calls_hold_again(session->calls);
    }
    if (!session_has_work(session))
        session->wanted_at = 0;
}
