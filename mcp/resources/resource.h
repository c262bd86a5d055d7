/*
 * A kind of resource: its entry in the lists, and its reader. Each has a file resource_NAME.c;
 * resources.c has the table.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Resources".
 */
#ifndef MCP_RESOURCES_RESOURCE_H
#define MCP_RESOURCES_RESOURCE_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

#include <stdbool.h>

struct resource {
    const char *uri; /* or a template */
    bool is_template;
    const char *name, *title, *description, *type; /* `type`: media type; NULL if it varies */
    /*
     * Takes over the answer if the URI is of this kind; else returns false, and the answer is still
     * owed. The URI is a string from the client: untrusted.
     */
    bool (*read)(struct context *context, const struct json_value *uri, const struct reply *reply);
    /* Writes the entries of a template's resources of that owner in resources/list; NULL: they are not listed. */
    void (*list)(struct json_writer *writer, struct context *context, unsigned owner);
};

extern const struct resource resource_environments;
extern const struct resource resource_output;
extern const struct resource resource_files;
extern const struct resource resource_sessions;

/* Whose resources the request is for. */
static inline unsigned resource_owner(const struct reply *reply)
{
    return rpc_answer_rpc(reply->answer)->owner;
}

/* Answers with the error for a missing resource; `message` is the reason. */
void resource_answer_not_found(const struct reply *reply, const struct json_value *uri,
                               const char *message);

/* The contents of a resource, or a part of them. All borrowed. */
struct resource_contents {
    const struct json_value *uri; /* as requested */
    const char *type;
    const struct buffer *bytes;
    const struct buffer *quoted; /* the bytes as JSON text; empty: they are sent as base64 */
    uint64_t next_offset; /* of the next part; 0: this is the last one */
};

void resource_answer_contents(const struct reply *reply, const struct resource_contents *contents);

/* Appends the bytes as JSON text. 0; -ENOBUFS: no room; -ENOMEM. */
int resource_quote(const struct buffer *bytes, struct buffer *quoted);

/* The maximum of this text: an answer with it fits into a line. */
#define RESOURCE_QUOTED_MAX (LINE_OUT_MAX - 32 * KIBIBYTE)

#endif
