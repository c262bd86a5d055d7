/*
 * Whole outputs of the newest calls whose results showed only a part, to be read as resources:
 * sandbox://output/NUMBER/stdout and stderr. In bounded memory: the oldest go.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_OUTPUTS_H
#define MCP_TOOLS_OUTPUTS_H

#include "sandbox/base/json.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_URI_FORMAT "sandbox://output/%" PRIu64 "/%s"
#define OUTPUT_URI_TEMPLATE "sandbox://output/{number}/{stream}"
#define OUTPUT_URI_SIZE 64

struct output;

struct outputs {
    struct output *newest; /* owned */
    size_t count;
    uint64_t bytes;
    uint64_t last_number;
};

/* The number that outputs_keep() will give to the result; 0: it is too much to be kept. */
uint64_t outputs_next(const struct outputs *outputs, const struct run_result *result);

/* Takes over both streams of the result, which outputs_next() has given a number. */
void outputs_keep(struct outputs *outputs, struct run_result *result);

/* The stream of that URI; NULL: there is none, or none any more. Borrowed. */
const struct capture *outputs_find(const struct outputs *outputs, const struct json_value *uri);

void outputs_release(struct outputs *outputs);

#endif
