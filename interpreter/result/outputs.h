/*
 * Whole outputs of the newest calls whose results showed only a part, to be read as resources:
 * sandbox://output/NUMBER/stdout and stderr. In bounded memory: the oldest go.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_OUTPUTS_H
#define INTERPRETER_RESULT_OUTPUTS_H

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
};

/* Whether the streams are small enough to keep. */
bool outputs_may_keep(const struct run_result *result);

/*
 * Takes over both streams of the result, as outputs of the call `number`, which only its owner finds (struct rpc).
 * outputs_may_keep() must hold.
 */
void outputs_keep(struct outputs *outputs, unsigned owner, uint64_t number,
                  struct run_result *result);

/* The stream of that URI; NULL: there is none, or none any more. Borrowed. */
const struct capture *outputs_find(const struct outputs *outputs, unsigned owner,
                                   const struct json_value *uri);

void outputs_release(struct outputs *outputs);

#endif
