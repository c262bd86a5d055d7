/*
 * The result of a call as one line of JSON: the id of the call, the number of its line, and either what the
 * program printed and the record of its run, or an error: then it did not run.
 *
 * Side: parent.
 */
#ifndef FLEET_RESULT_LINE_H
#define FLEET_RESULT_LINE_H

#include "interpreter/cases/test_run.h"
#include "interpreter/result/result_json.h"
#include "interpreter/workers/carried_result.h"

/* The call that a result belongs to. */
struct result_head {
    const struct buffer *id; /* as JSON text, borrowed; empty: null */
    uint64_t line;           /* its number, from 1 */
};

/* Appends the line, without a newline. 0 or a negative errno. */
int result_line_write(const struct result_head *head, const struct record *record,
                      struct buffer *text);
int result_line_write_error(const struct result_head *head, const struct fault *fault,
                            struct buffer *text);

/* Of a call with tests. */
int result_line_write_tests(const struct result_head *head, const struct test_run *tests,
                            const struct check *check, const char *image, struct buffer *text);

/* The whole result, for a front end elsewhere. Its patches and files may take what the line has room for. */
int result_line_write_carried(const struct result_head *head, const struct carried_result *carried,
                              struct buffer *text);

/* Of a call that may have run, as a whole or in part, without anybody knowing. It counts as run: not again. */
int result_line_write_lost(const struct result_head *head, const char *reason, struct buffer *text);

/*
 * The id of a result that need not be had again, as JSON text: of a call that ran. 1 and the id; 0: it did
 * not run, or has no id; a negative errno: the line is no result.
 */
int result_line_read_id(const char *line, size_t length, struct buffer *ret_id);

#endif
