/*
 * The answer of /run_code, in the fields of SandboxFusion.
 *
 * Side: parent.  Source: SandboxFusion, RunCodeResponse.
 */
#ifndef MCP_HTTP_RUN_ANSWER_H
#define MCP_HTTP_RUN_ANSWER_H

#include "interpreter/cases/test_run.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

/*
 * Appends the answer about a run. `wanted`: an array of at most HTTP_FILES_NAMED_MAX names of files to send,
 * from the client: untrusted; or NULL. 0 or a negative errno.
 */
int run_answer_write(const struct run_result *result, const struct json_value *wanted,
                     struct buffer *text);

/* The same about the tests of a program: with "outcome", "passed" and "tests" besides, and a null run_result. */
int run_answer_write_tests(const struct test_run *tests, const struct check *check,
                           struct buffer *text);

/* The answer about a snippet that did not run. */
int run_answer_write_fault(const struct fault *fault, struct buffer *text);

/* The most bytes of such an answer, where so much of each stream is kept. */
#define RUN_ANSWER_MAX(kept) (2 * 6 * (kept) + 2 * HTTP_FILES_MAX + MEBIBYTE)

#endif
