/* What a session is asked for: sandbox/session.h. */
#include "sandbox/session.h"

#include "sandbox/run.h"
#include "sandbox/session_interrupt.h"
#include "sandbox/session_lane.h"
#include "sandbox/session_place.h"
#include "sandbox/session_state.h"

#include <errno.h>
#include <string.h>

/* Takes ownership of the cell. */
static int queue(struct session *session, struct cell *cell, const struct run_observer *observer,
                 struct cell **ret_cell, struct fault *fault)
{
    if (!cell_fits(session->cells, cell, session->host->cell_bytes, fault)) {
        cell_free(cell);
        return -EAGAIN;
    }
    cell->session = session;
    cell->observer = *observer;
    cell_append(&session->cells, cell, &session->host->cell_bytes);
    session_stir(session);
    *ret_cell = cell;
    return 0;
}

int session_submit(struct session *session, const struct cell_spec *spec,
                   const struct run_observer *observer, struct cell **ret_cell, struct fault *fault)
{
    struct cell *cell = NULL;
    const struct session_lane *lane = &session->lanes[spec->lane];
    int r = cell_new(spec, session_lane_plan(lane)->code_name,
                     lane->number > 0 && lane->kind == SESSION_FRESH, &cell, fault);
    return r < 0 ? r : queue(session, cell, observer, ret_cell, fault);
}

int session_look(struct session *session, const struct run_observer *observer,
                 struct cell **ret_cell, struct fault *fault)
{
    const struct cell_spec nothing = {.code = "", .stdin_source = {.kind = STDIN_EMPTY}};
    struct cell *cell = NULL;
    int r =
        cell_new(&nothing, session_lane_plan(&session->lanes[0])->code_name, false, &cell, fault);
    if (r < 0)
        return r;
    cell->is_look = true;
    return queue(session, cell, observer, ret_cell, fault);
}

int session_exec(struct session *session, const struct command_spec *spec,
                 const struct command_observer *observer, struct session_command **ret_command,
                 struct fault *fault)
{
    int r = command_set_add(&session->commands, spec, observer, ret_command, fault);
    if (r == 0)
        session_begin_added(session);
    return r;
}

bool cell_is_queued(const struct cell *cell)
{
    const struct session *session = cell->session;
    return session->cells != cell || session->stage <= SESSION_IDLE;
}

void cell_interrupt(struct cell *cell)
{
    if (cell->session->cells == cell)
        session_interrupt(cell->session, OUTCOME_CANCELLED);
}

void cell_cancel(struct cell *cell)
{
    cell->observer = (struct run_observer){0};
    cell_interrupt(cell);
}

size_t session_checkpoints(const struct session *session, unsigned lane,
                           uint32_t ret_cells[SESSION_CHECKPOINTS_MAX])
{
    if (lane >= session->lane_count)
        return 0;
    memcpy(ret_cells, session->lanes[lane].numbers, sizeof(session->lanes[lane].numbers));
    return session->lanes[lane].number_count;
}

void session_end(struct session *session)
{
    session->observer = (struct session_observer){0};
    for (struct cell *cell = session->cells; cell != NULL; cell = cell->next)
        cell->observer = (struct run_observer){0};
    command_set_mute(&session->commands);
    session_leave_place(session);
    session->wanted_at = 0;
    if (session->stage == SESSION_NEW) {
        session->forget(session);
        return;
    }
    session_enter(session, SESSION_ENDED, 0);
    session_lanes_unwatch(session);
    run_abandon(session->run);
}
