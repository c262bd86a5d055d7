#include "interpreter/workers/fleet_answer.h"

#include "interpreter/base/helpers.h"
#include "interpreter/workers/carried_result.h"
#include "sandbox/base/owned.h"

#include <errno.h>

/* Ids of faults are static texts: those that a worker may give. */
static const char *id_of(const struct json_value *id)
{
    static const char *const ids[] = {"bad_line", "policy", "memory_limit_too_low", "set_up_died",
                                      "queue_full"};
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
        if (json_is(id, ids[i]))
            return ids[i];
    return NULL;
}

static const char *text_of(const struct json_value *object, const char *name)
{
    const struct json_value *text = json_member(object, name);
    return text != NULL && text->type == JSON_STRING ? text->text : NULL;
}

static enum fleet_answer lose(struct fault *fault, const char *reason)
{
    *fault = (struct fault){.id = "lost"};
    fault_set(fault, ECONNRESET, "%s", reason);
    return FLEET_LOST;
}

static enum fleet_answer refuse(struct fault *fault, const char *reason)
{
    fault->id = "refused";
    fault_set(fault, EAGAIN, "%s", reason);
    return FLEET_REFUSED;
}

/* Either its run or why there was none: a worker that says both, or neither, is not understood. */
static enum fleet_answer read_result(const struct json_value *result, struct run_result *ret_result,
                                     struct fault *fault)
{
    const struct json_value *run = json_member(result, "run");
    const struct json_value *error = json_member(result, "error");
    const char *message = text_of(error, "message");
    if (run != NULL && error == NULL) {
        struct fault wrong = {0};
        return carried_result_read(run, ret_result, &wrong) == 0 ? FLEET_RAN
                                                                 : lose(fault, wrong.text);
    }
    if (run != NULL || message == NULL)
        return lose(fault,
                    "the result of a worker has neither a run nor an error: it may have run");
    fault->id = id_of(json_member(error, "id"));
    fault_set(fault, EIO, "%s", message[0] != '\0' ? message : "a worker could not run it");
    return FLEET_NOT_RUN;
}

enum fleet_answer fleet_answer_read(const struct fleet_ticket *ticket,
                                    const struct json_value *answer, struct run_result *ret_result,
                                    struct fault *fault)
{
    const struct json_value *result = json_member(answer, "result");
    const char *refused = text_of(answer, "refused");
    const char *lost = text_of(answer, "lost");
    if (result != NULL)
        return read_result(result, ret_result, fault);
    if (refused != NULL)
        return refuse(fault, refused);
    if (answer == NULL && !ticket->may_have_run)
        return refuse(fault, ticket->reason);
    if (answer != NULL)
        return lose(fault, lost != NULL ? lost : FLEET_PROGRAM " has not said what became of it");
    *fault = (struct fault){.id = "lost"};
    fault_set(fault, ECONNRESET, "%s: it may have run in part", ticket->reason);
    return FLEET_LOST;
}
