/*
 * A kind of resource: how the lists describe it, and how it is read. One file each, resource_NAME.c; the
 * table is in resources.c.
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
    const char *name, *title, *description, *type; /* `type`: media type; NULL where it varies */
    /*
     * Takes over the answer if the URI, a string from the client, is of this kind; false: it is not, and
     * the answer is still owed.
     */
    bool (*read)(struct context *context, const struct json_value *uri, const struct reply *reply);
};

extern const struct resource resource_environments;
extern const struct resource resource_output;
extern const struct resource resource_files;

/* Answers that there is no such resource; `message` says why. */
void resource_answer_not_found(const struct reply *reply, const struct json_value *uri,
                               const char *message);

/* What is in a resource, or in the part of it that was asked for. All borrowed. */
struct resource_contents {
    const struct json_value *uri; /* as it was asked for */
    const char *type;
    const struct buffer *bytes;
    const struct buffer *quoted; /* the same as JSON text; empty: the bytes go as base64 */
    uint64_t next_offset;        /* where the next part begins; 0: there is none */
};

void resource_answer_contents(const struct reply *reply, const struct resource_contents *contents);

/* Writes the bytes as JSON text. 0; -ENOBUFS: they do not fit; -ENOMEM. */
int resource_quote(const struct buffer *bytes, struct buffer *quoted);

/* The room for that text, so that the answer fits into a line. */
#define RESOURCE_QUOTED_MAX (LINE_OUT_MAX - 32 * KIBIBYTE)

#endif
