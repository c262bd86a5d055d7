#include "sandbox/session_interrupt.h"

#include "sandbox/limits/limits.h"
#include "sandbox/run.h"
#include "sandbox/session_calls.h"
#include "sandbox/session_checkpoint.h"
#include "sandbox/session_lane.h"
#include "sandbox/session_place.h"

#define INSISTENCES ((INTERRUPT_MAX_MS - INTERRUPT_INSIST_MS) / INTERRUPT_INSISTENCE_MS)

void session_interrupt(struct session *session, enum run_outcome outcome)
{
    struct cell_progress *progress = &session->progress;
    if (session->stage != SESSION_RUNNING)
        return;
    session_calls_wake(session->calls);
    progress->is_interrupted = true;
    progress->stop = outcome;
    int r = session_lane_interrupt(session_lane_of(session), progress->number);
    progress->insistences = r == 0 ? 0 : INSISTENCES;
    /* One that cannot be told does not heed. */
    session_enter(session, SESSION_INTERRUPTED, r < 0 ? 1 : INTERRUPT_INSIST_MS);
}

/*
 * It has not ended in time. What starts one program after another may be just between two of them, so one insistence
 * is not enough.
 */
void session_press(struct session *session)
{
    bool was_last = session->progress.insistences >= INSISTENCES || session->progress.is_ended;
    session_calls_end_cell(session->calls); /* what is interrupted may wait for threads that call */
    session->progress.insistences++;
    if (was_last && !session->progress.is_ended &&
        session_checkpoint_give_up_cell(session, session->progress.stop))
        return;
    if (was_last || session_lane_insist(session_lane_of(session)) < 0)
        run_stop(session->run, session->progress.stop);
    else
        session_enter(session, SESSION_INTERRUPTED, INTERRUPT_INSISTENCE_MS);
}
