/*
 * The request of /run_code: a snippet in the fields of SandboxFusion.
 *
 * Side: parent.  Source: SandboxFusion, RunCodeRequest.
 */
#ifndef MCP_HTTP_RUN_REQUEST_H
#define MCP_HTTP_RUN_REQUEST_H

#include "interpreter/cases/test_set.h"
#include "interpreter/launcher.h"
#include "sandbox/base/json.h"

struct run_request {
    struct json *json; /* owned; the snippet borrows from it */
    struct snippet snippet;
    struct test_set tests; /* of the program; none: it is run once */
    struct run_input *files; /* owned */
    char **decoded;          /* owned, each */
    size_t file_count;
    const struct json_value *wanted; /* an array of at most HTTP_FILES_NAMED_MAX names, or NULL */
};

/*
 * Reads the body: untrusted. The time and the memory that it asks for can only lower the limits of the
 * settings. 0; -EINVAL or another negative errno with a sentence for the client. To be released in either
 * case.
 */
int run_request_read(struct run_request *request, const struct settings *settings,
                     const struct buffer *body, struct fault *fault);
void run_request_release(struct run_request *request);

/*
 * Appends a body with all that is read of this one and nothing else, so that this one need not be kept. 0 or a
 * negative errno.
 */
int run_request_write(const struct run_request *request, struct buffer *body);

/* A copy of `wanted`, which may be NULL. 0 or a negative errno. *ret_bytes: what it takes. */
int run_request_copy_wanted(const struct run_request *request, struct json **ret_json,
                            size_t *ret_bytes);

#endif
