#include "sandbox/session_network.h"

#include "sandbox/base/owned.h"

#include <stddef.h>
#include <stdlib.h>

static void take(struct session *session)
{
    struct network_record *record = limited_sandbox_take_network(&session->run->attempt.limited);
    if (record == NULL)
        return;
    bool is_told = command_set_add_network(&session->commands, record);
    bool has_cell = session->stage > SESSION_IDLE && session->stage < SESSION_ENDED;
    if (is_told && !has_cell) {
        free(record);
    } else if (session->network == NULL) {
        session->network = record;
    } else {
        record_add(session->network, record);
        free(record);
    }
}

bool session_network_note(struct command_set *set)
{
    struct session *session = container_of(set, struct session, commands);
    struct limited_sandbox *limited = &session->run->attempt.limited;
    if (limited->link_fd < 0)
        return false;
    limited_sandbox_ask_network(limited, false);
    take(session);
    return true;
}

struct network_record *session_network_take(struct session *session)
{
    take(session);
    return pointer_take(&session->network);
}
