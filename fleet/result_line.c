#include "fleet/result_line.h"

#include "fleet/call_line.h"
#include "interpreter/base/bounds.h"
#include "interpreter/workers/carried_result.h"
#include "sandbox/base/owned.h"

#include <errno.h>

#define CARRIED_OVERHEAD (256 * KIBIBYTE) /* of a line, but output and files */

/* Begins the object of a line with its head. As json_writer_open(). */
static int begin(const struct result_head *head, struct buffer *text,
                 struct json_writer **ret_writer)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_key(writer, "id");
    if (head->id->length > 0)
        json_raw(writer, head->id->data, head->id->length);
    else
        json_null(writer);
    json_number_member(writer, "line", (int64_t)head->line);
    *ret_writer = writer;
    return 0;
}

static int finish(struct json_writer *writer)
{
    json_end_object(writer);
    return json_writer_close(writer);
}

int result_line_write(const struct result_head *head, const struct record *record,
                      struct buffer *text)
{
    struct json_writer *writer;
    int r = begin(head, text, &writer);
    if (r < 0)
        return r;
    result_json_write_output(writer, record->result);
    result_json_write_members(writer, record);
    return finish(writer);
}

int result_line_write_tests(const struct result_head *head, const struct test_run *tests,
                            const struct check *check, const char *image, struct buffer *text)
{
    struct json_writer *writer;
    int r = begin(head, text, &writer);
    if (r < 0)
        return r;
    test_run_write(writer, tests, check);
    json_text_member(writer, "image", image);
    return finish(writer);
}

/* With `outcome`, unless it is NULL. */
static int write_fault(const struct result_head *head, const char *outcome,
                       const struct fault *fault, struct buffer *text)
{
    struct json_writer *writer;
    int r = begin(head, text, &writer);
    if (r < 0)
        return r;
    if (outcome != NULL)
        json_text_member(writer, "outcome", outcome);
    json_key(writer, "error");
    result_json_write_fault(writer, fault);
    return finish(writer);
}

int result_line_write_carried(const struct result_head *head, const struct carried_result *carried,
                              struct buffer *text)
{
    const struct run_result *result = carried->result;
    size_t output = result->out.head.length + result->out.tail.length + result->err.head.length +
                    result->err.tail.length;
    size_t taken = output / 3 * 4 + CARRIED_OVERHEAD;
    struct json_writer *writer;
    int r = begin(head, text, &writer);
    if (r < 0)
        return r;
    json_key(writer, "run");
    carried_result_write(writer, carried, taken < LINE_IN_MAX ? LINE_IN_MAX - taken : 0);
    return finish(writer);
}

int result_line_write_error(const struct result_head *head, const struct fault *fault,
                            struct buffer *text)
{
    return write_fault(head, NULL, fault, text);
}

int result_line_write_lost(const struct result_head *head, const char *reason, struct buffer *text)
{
    struct fault fault = {.id = "lost"};
    fault_set(&fault, EIO, "%s", reason);
    return write_fault(head, "lost", &fault, text);
}

int result_line_read_id(const char *line, size_t length, struct buffer *ret_id)
{
    OWNED(json_release) struct json *json = NULL;
    int r = json_parse(line, length, &json, NULL);
    const struct json_value *root = r == 0 ? json_root(json) : NULL;
    const struct json_value *id = json_member(root, "id");
    if (r < 0 || id == NULL)
        return r < 0 ? r : -EINVAL;
    const struct json_value *outcome = json_member(root, "outcome");
    if (outcome == NULL)
        return json_member(root, "error") != NULL ? 0 : -EINVAL;
    if (outcome->type != JSON_STRING || id->type == JSON_NULL)
        return outcome->type == JSON_STRING ? 0 : -EINVAL;
    r = call_line_id(id, ret_id, NULL);
    return r < 0 ? r : 1;
}
