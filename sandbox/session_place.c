#include "sandbox/session_place.h"

#include "sandbox/limits/limits.h"

void session_leave_place(struct session *session)
{
    if (session->has_place)
        session->leaves_place(session);
    session->has_place = false;
}

bool session_has_work(const struct session *session)
{
    return session->cells != NULL || command_set_needs_place(&session->commands);
}

void session_want_place(struct session *session)
{
    if (!session_has_work(session) || session->wanted_at != 0 || session->has_place ||
        session->is_read)
        return;
    session->wanted_at = clock_now();
    session->wants_place(session);
}

void session_extend(struct session *session, int64_t wall_ms)
{
    struct run_limits limits = session->run->design.limits;
    int64_t now = clock_now();
    /* So that code that does not heed an interrupt is ended for this, and not for its processor time. */
    int64_t ends_at = now + (wall_ms + INTERRUPT_MAX_MS) * NANOSECONDS_PER_MILLISECOND;
    if (ends_at > session->time_ends_at)
        session->time_ends_at = ends_at;
    limits.wall_ms = (session->time_ends_at - now) / NANOSECONDS_PER_MILLISECOND;
    limiter_resume(&session->run->attempt.limited.limiter, &limits);
}

void session_enter(struct session *session, enum session_stage stage, int64_t milliseconds)
{
    session->stage = stage;
    if (milliseconds > 0)
        loop_arm(session->host->loop, &session->timer,
                 clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND);
    else
        loop_disarm(session->host->loop, &session->timer);
}
