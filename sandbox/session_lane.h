/*
 * The lanes of a session: each is the cells of one language, and what runs them. The first is the program of the run;
 * init starts those of the others when they get their first cell, with files of their own in the home directory.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_LANE_H
#define SANDBOX_SESSION_LANE_H

#include "sandbox/session_link.h"
#include "sandbox/session_state.h"

/* `on_frame`: of the channels of all of them. */
void session_lane_make_first(struct session *session, const struct session_spec *spec,
                             void (*on_frame)(struct loop_watch *watch, uint32_t events));

/* Adds a further one, which takes over the plan if that succeeds. 0; -EMFILE; -ENOMEM. */
int session_add_lane(struct session *session, const struct session_spec *spec, struct plan *plan,
                     unsigned *ret_lane);

/* That of the present cell. */
struct session_lane *session_lane_of(struct session *session);

/* Whether any is ready and of SESSION_LIVE. */
bool session_has_live_program(const struct session *session);

const struct jail_plan *session_lane_plan(const struct session_lane *lane);

/*
 * Has init write the files of a further one, and start its program if that is live: REPORT_WRITTEN tells how that
 * went, and a frame when it is ready. 0, or a negative errno with its fault.
 */
int session_lane_start(struct session_lane *lane, struct fault *fault);

/* As if it had not been started: after a failure of init. */
void session_lane_reset(struct session_lane *lane);

/* Has init write the files of a cell, and start a program anew if the lane is one of those. The same. */
int session_lane_feed(const struct session_lane *lane, const struct parcel *parcel,
                      struct fault *fault);

/* Its calls are read; and of a live program, frames come to on_frame(). 0 or a negative errno; -EAGAIN... as session_link_receive(). */
int session_lane_watch(struct session_lane *lane);
int session_lane_receive(const struct session_lane *lane, struct frame *ret_frame);

/* As session_link.h has it, for programs of either kind. 0 or a negative errno. */
int session_lane_run(const struct session_lane *lane, uint32_t cell, const struct parcel *parcel);
int session_lane_interrupt(const struct session_lane *lane, uint32_t cell);
int session_lane_insist(const struct session_lane *lane);
int session_lane_pause(const struct session_lane *lane);

struct session_link session_lane_link(const struct session_lane *lane);

/* Nothing is heard of them any more, nor are calls. */
void session_lanes_unwatch(struct session *session);
void session_lanes_release(struct session *session);

#endif
