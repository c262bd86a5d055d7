/*
 * The pictures of a result: files that a run has left, if their first bytes are those of a picture.
 *
 * Their bytes are the snippet's, untrusted, and go on as they are: whoever decodes them is outside.
 * Side: parent.  Source: MCP 2025-11-25, "Image Content".
 */
#ifndef MCP_TOOLS_PICTURES_H
#define MCP_TOOLS_PICTURES_H

#include "sandbox/base/json.h"
#include "sandbox/result.h"

#include <stddef.h>
#include <stdint.h>

struct picture {
    const char *name;     /* borrowed from the result */
    const char *type;     /* "image/png" */
    uint64_t bytes;
    struct buffer base64; /* empty: it is too large to be shown */
};

struct pictures {
    struct picture list[RUN_FILES_MAX];
    size_t count;
    size_t left; /* files that were not even looked at */
};

/* Reads as many as PICTURES_BYTES_MAX has room for, in their order. */
void pictures_load(const struct run_result *result, struct pictures *ret_pictures);
void pictures_release(struct pictures *pictures);

/* Each that is shown, as a block of content. */
void pictures_write(struct json_writer *writer, const struct pictures *pictures);

/* Of those that are not shown, a sentence each; nothing where all are. */
int pictures_describe_hidden(const struct pictures *pictures, struct buffer *text);

/* All of them, as objects of an array that the caller has begun and ends. */
void pictures_write_list(struct json_writer *writer, const struct pictures *pictures);

#endif
