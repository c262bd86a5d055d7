#include "mcp/http/mcp_sessions.h"

#include "interpreter/base/bounds.h"
#include "mcp/http/http_tokens.h"
#include "sandbox/base/list.h"
#include "sandbox/base/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ID_BYTES (MCP_SESSION_ID_SIZE / 2)

static bool make_id(char id[MCP_SESSION_ID_SIZE])
{
    unsigned char bytes[ID_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool is_over(const struct mcp_session *session, int64_t now)
{
    return session->requests == 0 &&
           now - session->used > HTTP_SESSION_IDLE_MS * NANOSECONDS_PER_MILLISECOND;
}

static void remove_over(struct mcp_sessions *sessions)
{
    int64_t now = clock_now();
    LIST_EACH (struct mcp_session, session, sessions->first) {
        if (is_over(session, now))
            mcp_sessions_remove(sessions, session);
    }
}

/* Of the owner who has most, so that nobody takes the room of those who have less. */
static struct mcp_session *find_oldest(const struct mcp_sessions *sessions, unsigned new_owner)
{
    size_t counts[HTTP_TOKENS_MAX] = {0};
    counts[new_owner]++;
    for (struct mcp_session *session = sessions->first; session != NULL; session = session->next)
        counts[session->agreed.rpc.owner]++;
    struct mcp_session *oldest = NULL;
    size_t most = 0;
    for (struct mcp_session *session = sessions->first; session != NULL; session = session->next) {
        size_t count = counts[session->agreed.rpc.owner];
        if (session->requests > 0 || count < most ||
            (oldest != NULL && count == most && session->used >= oldest->used))
            continue;
        oldest = session;
        most = count;
    }
    return oldest;
}

struct mcp_session *mcp_sessions_add(struct mcp_sessions *sessions, const struct client *agreed)
{
    remove_over(sessions);
    if (sessions->count >= HTTP_SESSIONS_MAX) {
        struct mcp_session *oldest = find_oldest(sessions, agreed->rpc.owner);
        if (oldest == NULL)
            return NULL;
        mcp_sessions_remove(sessions, oldest);
    }
    struct mcp_session *session = malloc(sizeof(*session));
    if (session == NULL)
        return NULL;
    *session = (struct mcp_session){.agreed = *agreed, .used = clock_now()};
    session->agreed.rpc.observer = NULL;
    session->agreed.rpc.batches_held = NULL;
    session->agreed.rpc.open = 0;
    if (!make_id(session->id)) {
        free(session);
        return NULL;
    }
    LIST_PREPEND(sessions->first, session);
    sessions->count++;
    return session;
}

/*
 * The ids are compared in a time that depends on how much of one is right. Who measures that over a
 * network has the token already, and so everything that an id would give.
 */
struct mcp_session *mcp_sessions_find(struct mcp_sessions *sessions, unsigned owner, const char *id)
{
    int64_t now = clock_now();
    struct mcp_session *session = sessions->first;
    while (session != NULL && (session->agreed.rpc.owner != owner || strcmp(session->id, id) != 0))
        session = session->next;
    if (session != NULL && is_over(session, now)) {
        mcp_sessions_remove(sessions, session);
        return NULL;
    }
    if (session != NULL)
        session->used = now;
    return session;
}

void mcp_sessions_remove(struct mcp_sessions *sessions, struct mcp_session *session)
{
    LIST_REMOVE(sessions->first, session);
    sessions->count--;
    free(session);
}

void mcp_sessions_release(struct mcp_sessions *sessions)
{
    while (sessions->first != NULL)
        mcp_sessions_remove(sessions, sessions->first);
}
