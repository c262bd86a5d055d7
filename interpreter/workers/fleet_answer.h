/*
 * What became of a call that was sent to workers, read in one place for all front ends.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_WORKERS_FLEET_ANSWER_H
#define INTERPRETER_WORKERS_FLEET_ANSWER_H

#include "interpreter/workers/fleet_link.h"
#include "sandbox/result.h"

enum fleet_answer {
    FLEET_RAN,
    FLEET_NOT_RUN, /* its worker says why */
    FLEET_REFUSED, /* no worker has had it */
    FLEET_LOST,    /* it may have run */
};

/*
 * Reads the answer to a ticket; its result comes from a worker: untrusted. FLEET_RAN, and the result is the caller's;
 * anything else with a fault. What is neither a result nor a reason is lost.
 */
enum fleet_answer fleet_answer_read(const struct fleet_ticket *ticket,
                                    const struct json_value *answer, struct run_result *ret_result,
                                    struct fault *fault);

#endif
