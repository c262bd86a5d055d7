#include "sandbox/session_checkpoint.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/session_calls.h"
#include "sandbox/session_lane.h"
#include "sandbox/session_place.h"
#include "sandbox/session_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(SESSION_CHECKPOINTS_MAX == JAIL_CHECKPOINTS_MAX, "init has room for all");

/* That of an earlier life of the program is killed by init. */
static int hand_over(struct session_lane *lane, uint32_t revived)
{
    const struct session_link link = session_lane_link(lane);
    const struct parent_message copy = {.command = (int32_t)lane->copy.a,
                                        .number = lane->copy.cell,
                                        .file_count = lane->checkpoints,
                                        .revived = revived};
    bool is_any = lane->copy.kind != 0 && lane->copy.a > 0 && lane->copy.a <= INT32_MAX;
    lane->copy.kind = 0;
    return is_any ? session_link_keep(&link, &copy) : 0;
}

void session_checkpoint_note(struct session *session, struct session_lane *lane,
                             const struct frame *frame)
{
    int r = hand_over(lane, lane->revived - 1);
    lane->copy = *frame;
    if (r < 0)
        session_fail(session, "a session did not take a checkpoint", -r);
}

static void note_number(struct session_lane *lane, uint32_t cell)
{
    if (lane->number_count > 0) /* the oldest can give way again */
        limiter_let_others_live(&lane->session->run->attempt.limited.limiter,
                                session_checkpoint_on_near_memory);
    lane->checkpoint.number = cell;
    if (lane->number_count == lane->checkpoints)
        memmove(lane->numbers, lane->numbers + 1, --lane->number_count * sizeof(lane->numbers[0]));
    lane->numbers[lane->number_count++] = cell;
}

int session_checkpoint_take(struct session_lane *lane, uint32_t cell)
{
    const struct frame copy = lane->copy;
    if (copy.kind == 0 || copy.cell != cell)
        return 0;
    bool is_known = copy.b > HINDRANCE_NONE && copy.b < HINDRANCE_COUNT;
    lane->checkpoint.hindrance = copy.a > 0 ? HINDRANCE_NONE
                                 : is_known ? (enum checkpoint_hindrance)copy.b
                                            : HINDRANCE_UNKNOWN;
    if (copy.a > 0)
        note_number(lane, cell);
    return hand_over(lane, lane->revived);
}

static int explain_missing(const struct session_lane *lane, uint32_t cell, struct fault *fault)
{
    char list[12 * SESSION_CHECKPOINTS_MAX] = "none";
    size_t length = 0;
    for (size_t i = 0; i < lane->number_count; i++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%" PRIu32,
                                   i > 0 ? ", " : "", lane->numbers[i]);
    fault_identify(fault, "no_checkpoint");
    return fault_set(fault, ENOENT,
                     "there is no checkpoint of call %" PRIu32
                     " to go back to; of this language there are: %s. The session is as it was",
                     cell, list);
}

static bool has_number(const struct session_lane *lane, uint32_t cell)
{
    for (size_t i = 0; i < lane->number_count; i++)
        if (lane->numbers[i] == cell)
            return true;
    return false;
}

static int ask_to_go_back(struct session_lane *lane, uint32_t cell, struct fault *fault)
{
    if (!lane->is_ready || !has_number(lane, cell))
        return explain_missing(lane, cell, fault);
    const struct session_link link = session_lane_link(lane);
    int r = session_link_say(&link, WORD_RESUME);
    if (r == 0)
        r = session_link_go_back(&link, cell, lane->revived);
    lane->is_ready = false;
    return r;
}

static int arrive(struct session_lane *lane, const struct frame *ready, uint32_t wanted,
                  struct fault *fault)
{
    if (wanted == 0)
        return 0;
    if (wanted != ready->cell)
        return fault_set(fault, ENOENT,
                         "the checkpoint of call %" PRIu32 " has been lost: was memory short? The "
                         "variables are as after call %" PRIu32,
                         wanted, ready->cell);
    lane->restored_to = 0;
    lane->checkpoint.went_back = wanted;
    lane->checkpoint.files = ready->a < FILES_COUNT ? (enum file_return)ready->a : FILES_FAILED;
    return 0;
}

static bool revive(struct session *session, const struct child_report *report)
{
    struct cell_progress *progress = &session->progress;
    if (report->index < 0 || (size_t)report->index >= session->lane_count)
        return false;
    struct session_lane *lane = &session->lanes[report->index];
    bool has_begun = session->stage == SESSION_RUNNING || session->stage == SESSION_INTERRUPTED ||
                     session->stage == SESSION_PAUSING;
    /* It has ended if the copy was made after it: then it is not lost. */
    bool is_its_cell = has_begun && session_lane_of(session) == lane && !session->cells->is_look &&
                       report->number != progress->number;
    lane->revived++;
    lane->is_ready = false;
    lane->is_reviving = true;
    lane->reviving_to = report->number;
    lane->restored_to = report->number;
    lane->checkpoint.number = report->number;
    /* The one itself comes again, of the copy. */
    while (lane->number_count > 0 && lane->numbers[lane->number_count - 1] >= report->number)
        lane->number_count--;
    if (is_its_cell) {
        progress->is_lost = true;
        progress->status = (uint32_t)report->status;
    }
    return is_its_cell;
}

bool session_checkpoint_give_up_cell(struct session *session, enum run_outcome outcome)
{
    struct cell_progress *progress = &session->progress;
    bool is_running = session->stage == SESSION_RUNNING || session->stage == SESSION_INTERRUPTED;
    if (!is_running || session_lane_of(session)->checkpoint.number == 0)
        return false;
    if (progress->is_ended)
        return !progress->is_lost; /* it is on its way */
    session_calls_wake(session->calls); /* a frozen init could not obey */
    const struct session_link link = session_lane_link(session_lane_of(session));
    if (session_link_end_program(&link, session_lane_of(session)->revived) < 0)
        return false;
    progress->is_ended = true;
    progress->stop = outcome;
    session_enter(session, SESSION_INTERRUPTED, INTERRUPT_MAX_MS);
    return true;
}

void session_checkpoint_begin_back(struct session *session)
{
    struct fault fault = {0};
    session->progress.has_gone_back = true;
    int r = ask_to_go_back(session_lane_of(session), session->cells->back_to, &fault);
    session->is_stopped &= r < 0;
    if (r == -ENOENT)
        session_end_cell(session, r, NULL, &fault);
    else if (r < 0)
        session_fail(session, "a session cannot go back", -r);
    else
        session_enter(session, SESSION_JOINING, SETUP_MAX_MS);
}

void session_checkpoint_on_ready(struct session *session, struct session_lane *lane,
                                 const struct frame *ready)
{
    if (ready->cell != lane->reviving_to)
        return; /* of one that has ended since, and another copy has taken its place */
    lane->is_ready = true;
    lane->is_reviving = false;
    int r = session_checkpoint_take(lane, ready->cell);
    if (r < 0) {
        session_fail(session, "a session did not take a checkpoint", -r);
        return;
    }
    if (session->stage != SESSION_JOINING || session_lane_of(session) != lane)
        return;
    if (session->cells->back_to > 0 && !session->progress.has_gone_back) {
        session_checkpoint_begin_back(session);
        return;
    }
    struct fault fault = {0};
    r = arrive(lane, ready, session->cells->back_to, &fault);
    if (r < 0)
        session_end_cell(session, r, NULL, &fault);
    else
        session_hand_over(session);
}

void session_checkpoint_on_revived(struct session *session, const struct child_report *report)
{
    if (!revive(session, report))
        return;
    session_stop_clock(&session->progress);
    if (session->stage != SESSION_PAUSING)
        session_pause_cell(session);
}

/* Half of the copies of each lane at a time, so that it takes few of them; while a cell may be lost, the newest stays. */
static bool end_oldest(struct session *session)
{
    bool is_idle = session->stage == SESSION_IDLE || session->stage == SESSION_RESTING;
    size_t ended = 0;
    for (size_t i = 0; i < session->lane_count; i++) {
        struct session_lane *lane = &session->lanes[i];
        const struct session_link link = session_lane_link(lane);
        size_t count = lane->number_count;
        size_t kept = count == 1 && !is_idle ? 1 : count / 2;
        if (kept == count || session_link_keep_newest(&link, (uint32_t)kept) < 0)
            continue;
        memmove(lane->numbers, lane->numbers + count - kept, kept * sizeof(lane->numbers[0]));
        lane->number_count = kept;
        lane->checkpoint.number = kept > 0 ? lane->checkpoint.number : 0;
        ended += count - kept;
    }
    return ended > 0;
}

bool session_checkpoint_on_near_memory(struct limiter *limiter)
{
    const struct run *run = container_of(limiter, struct run, attempt.limited.limiter);
    return run->session != NULL && end_oldest(run->session);
}

bool session_checkpoint_on_exceeded(struct run *run, enum run_outcome outcome)
{
    if (outcome == OUTCOME_OUT_OF_MEMORY && end_oldest(run->session)) {
        limiter_give_way(&run->attempt.limited.limiter);
        return true;
    }
    bool goes_on =
        outcome != OUTCOME_DISK_LIMIT && session_checkpoint_give_up_cell(run->session, outcome);
    if (goes_on)
        limiter_go_on(&run->attempt.limited.limiter);
    return goes_on;
}

bool session_checkpoint_is_of_lost(const struct session *session, const struct session_lane *lane,
                                   const struct frame *frame)
{
    return lane->revived > 0 && frame->kind == FRAME_DONE &&
           frame->cell <= session->progress.number;
}

struct run_checkpoint session_checkpoint_tell(struct session_lane *lane)
{
    const struct cell_progress *progress = &lane->session->progress;
    struct run_checkpoint told = lane->checkpoint;
    bool is_later = lane->restored_to == progress->number; /* the result of the next one tells it */
    told.restored_to = is_later ? 0 : lane->restored_to;
    told.was_between = told.restored_to > 0 && !progress->is_lost;
    lane->restored_to -= told.restored_to;
    lane->checkpoint.went_back = 0;
    lane->checkpoint.files = FILES_LEFT;
    return told;
}
