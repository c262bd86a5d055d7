/*
 * Sessions of MCP over HTTP: what a client of a version with a handshake has agreed on. They hold no
 * interpreter; sessions of snippets are another thing.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Transports", Session Management.
 */
#ifndef MCP_HTTP_MCP_SESSIONS_H
#define MCP_HTTP_MCP_SESSIONS_H

#include "mcp/base/client.h"

#include <stdint.h>

#define MCP_SESSION_ID_SIZE 33 /* 128 random bits as hexadecimal digits, and a NUL */

struct mcp_session {
    struct mcp_session *previous, *next;
    char id[MCP_SESSION_ID_SIZE];
    struct client agreed; /* for its requests to begin with; without an observer */
    int64_t used;         /* clock_now() */
    size_t requests;      /* that wait for an answer */
};

/* Empty is {0}. */
struct mcp_sessions {
    struct mcp_session *first;
    size_t count;
};

/*
 * A session of what the client has agreed on. If there are too many, in place of one of the owner who has most: the one
 * that was left alone longest. NULL: no memory, or all of them wait for answers.
 */
struct mcp_session *mcp_sessions_add(struct mcp_sessions *sessions, const struct client *agreed);

/* NULL: that owner has none, or it was left alone too long. The id is untrusted. */
struct mcp_session *mcp_sessions_find(struct mcp_sessions *sessions, unsigned owner,
                                      const char *id);

/* Frees it. No request may wait for it. */
void mcp_sessions_remove(struct mcp_sessions *sessions, struct mcp_session *session);
void mcp_sessions_release(struct mcp_sessions *sessions);

#endif
