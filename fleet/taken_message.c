#include "fleet/taken_message.h"

#include "fleet/word.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>

static const char *const not_passed_on[] = {"id", NULL};

/* Its own form has a value more than the call, and other escapes. */
static int check_line(const struct buffer *line)
{
    OWNED(json_release) struct json *json = NULL;
    if (line->length > LINE_IN_MAX)
        return -E2BIG;
    return line->length < JSON_VALUES_MAX ? 0 : json_parse(line->data, line->length, &json, NULL);
}

int taken_message_read_call(natsMsg *message, uint64_t number, struct buffer *ret_line)
{
    OWNED(json_release) struct json *json = NULL;
    struct json_writer *writer = NULL;
    int r =
        json_parse(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), &json, NULL);
    if (r == 0 && json_root(json)->type != JSON_OBJECT)
        r = -EINVAL;
    if (r == 0)
        r = json_writer_open(ret_line, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_number_member(writer, "id", (int64_t)number);
    json_copy_members(writer, json_root(json), not_passed_on);
    json_end_object(writer);
    r = json_writer_close(writer);
    return r == 0 ? check_line(ret_line) : r;
}

bool taken_message_read_answer(natsMsg *message, enum answer *ret_answer)
{
    enum word_answer word =
        word_read_answer(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message));
    if (natsMsg_IsNoResponders(message))
        *ret_answer = ANSWER_NOBODY;
    else if (word != WORD_NEITHER)
        *ret_answer = word == WORD_GO ? ANSWER_GO : ANSWER_GONE;
    else
        return false;
    return true;
}
