/* sandbox://output/CALL/STREAM: the full output of a call, as written, if its result does not show all of it. */
#include "interpreter/base/bounds.h"
#include "mcp/resources/resource.h"
#include "sandbox/base/owned.h"

#include <inttypes.h>

static int join(const struct capture *capture, struct buffer *bytes)
{
    int r = buffer_append(bytes, capture->head.data, capture->head.length);
    if (r == 0 && capture->cut > 0)
        r = buffer_format(bytes, "\n[... %" PRIu64 " bytes were not kept ...]\n", capture->cut);
    return r < 0 ? r : buffer_append(bytes, capture->tail.data, capture->tail.length);
}

static bool read_output(struct context *context, const struct json_value *uri,
                        const struct reply *reply)
{
    const struct capture *capture = outputs_find(&context->outputs, resource_owner(reply), uri);
    if (capture == NULL)
        return false;
    OWNED(buffer_release) struct buffer bytes = BUFFER(OUTPUT_STREAM_MAX + 256);
    OWNED(buffer_release) struct buffer quoted = BUFFER(RESOURCE_QUOTED_MAX);
    int r = join(capture, &bytes);
    /* Bytes that take six each go as base64. */
    if (r == 0 && resource_quote(&bytes, &quoted) < 0)
        buffer_release(&quoted);
    const struct resource_contents contents = {
        .uri = uri,
        .type = quoted.length > 0 ? "text/plain" : "application/octet-stream",
        .bytes = &bytes,
        .quoted = &quoted,
    };
    if (r < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "no memory for the output");
    else
        resource_answer_contents(reply, &contents);
    return true;
}

const struct resource resource_output = {
    .uri = OUTPUT_URI_TEMPLATE,
    .is_template = true,
    .name = "output",
    .title = "Full output of a call",
    .description =
        "The full stdout or stderr of a call, as written, if its result shows only a part, or "
        "leaves out redraws and terminal codes. Kept for the newest calls only",
    .type = "text/plain",
    .read = read_output,
};
