#include "mcp/extension/parameters.h"

#include "interpreter/settings/quantity.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 1024 /* of all parameters, in a sentence */

static bool is_plain(const struct json_value *value)
{
    return value->type == JSON_STRING && memchr(value->text, '\0', value->length) == NULL;
}

static bool all_plain(const struct json_value *value)
{
    const struct json_value *each = value->first;
    while (each != NULL && is_plain(each))
        each = each->next;
    return each == NULL;
}

static bool is_whole(const struct json_value *value)
{
    int64_t number = 0;
    return json_integer(value, &number) == 0 && number >= 0;
}

/* What it has to be; NULL: it is. */
static const char *find_wrong(enum parameter_kind kind, const struct json_value *value)
{
    switch (kind) {
    case PARAMETER_TEXT:
        return is_plain(value) ? NULL : "a string without NUL characters";
    case PARAMETER_DATA:
        return value->type == JSON_STRING ? NULL : "a string";
    case PARAMETER_BASE64:
        return value->type == JSON_STRING ? NULL : "a string: bytes as base64";
    case PARAMETER_TEXTS:
        return value->type == JSON_ARRAY && value->count > 0 && all_plain(value)
                   ? NULL
                   : "an array of strings without NUL characters, not empty";
    case PARAMETER_VARIABLES:
        return value->type == JSON_OBJECT && all_plain(value)
                   ? NULL
                   : "an object with a string for each variable";
    case PARAMETER_NUMBER:
        return value->type == JSON_NUMBER ? NULL : "a number";
    case PARAMETER_WHOLE:
        return is_whole(value) ? NULL : "a whole number, not negative";
    case PARAMETER_SWITCH:
        return value->type == JSON_BOOLEAN ? NULL : "true or false";
    case PARAMETER_OBJECT:
        return value->type == JSON_OBJECT ? NULL : "an object";
    case PARAMETER_ANY:
        break;
    }
    return NULL;
}

static int refuse_unknown(const struct json_value *member, const struct parameter *rows,
                          size_t count, struct fault *fault)
{
    OWNED(buffer_release) struct buffer names = BUFFER(NAMES_MAX);
    for (size_t i = 0; i < count; i++)
        buffer_format(&names, "%s\"%s\"", i == 0 ? "" : ", ", rows[i].name);
    const char *text = buffer_string(&names);
    return fault_set(fault, EINVAL, "there is no parameter \"%s\" here: there are %s",
                     visible_name(member->key).text, text != NULL ? text : "others");
}

static int find_unknown(const struct json_value *params, const struct parameter *rows, size_t count,
                        struct fault *fault)
{
    const struct json_value *member = params != NULL ? params->first : NULL;
    for (; member != NULL; member = member->next) {
        size_t i = 0;
        while (i < count && !json_key_is(member, rows[i].name))
            i++;
        if (i == count && !json_key_is(member, "_meta"))
            return refuse_unknown(member, rows, count, fault);
    }
    return 0;
}

int parameters_read(const struct json_value *params, const struct parameter *rows, size_t count,
                    const struct json_value **values, struct fault *fault)
{
    fault_identify(fault, "invalid_parameter");
    int r = find_unknown(params, rows, count, fault);
    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct json_value *value = json_member(params, rows[i].name);
        values[i] = value != NULL && value->type != JSON_NULL ? value : NULL;
        const char *wanted = values[i] != NULL ? find_wrong(rows[i].kind, value) : NULL;
        if (values[i] == NULL && rows[i].is_required)
            r = fault_set(fault, EINVAL, "the parameter \"%s\" is missing", rows[i].name);
        else if (wanted != NULL)
            r = fault_set(fault, EINVAL, "the parameter \"%s\" must be %s", rows[i].name, wanted);
    }
    if (r == 0)
        fault->id = NULL;
    return r;
}

int parameters_whole(const struct parameter *row, const struct json_value *value, uint64_t high,
                     uint64_t otherwise, uint64_t *ret_number, struct fault *fault)
{
    int64_t number = 0;
    *ret_number = otherwise;
    if (value == NULL)
        return 0;
    int r = json_integer(value, &number);
    bool is_low = r == 0 && (uint64_t)number < row->low;
    if (r == 0 && !is_low && (uint64_t)number <= high) {
        *ret_number = (uint64_t)number;
        return 0;
    }
    fault_identify(fault, "invalid_parameter");
    if (is_low)
        return fault_set(fault, EINVAL, "the parameter \"%s\" must be %" PRIu64 " at least",
                         row->name, row->low);
    return fault_set(fault, EINVAL, "the parameter \"%s\" may be %" PRIu64 " at most", row->name,
                     high);
}

int parameters_time(const struct parameter *row, const struct json_value *value, int64_t high,
                    int64_t otherwise, int64_t *ret_milliseconds, struct fault *fault)
{
    char what[64];
    uint64_t milliseconds = 0;
    *ret_milliseconds = otherwise;
    if (value == NULL)
        return 0;
    snprintf(what, sizeof(what), "the parameter \"%s\"", row->name);
    const struct quantity quantity = {
        .what = what, .unit = "seconds", .low = 1, .high = (uint64_t)high};
    int r = quantity_read_thousandths(&quantity, value->text, &milliseconds, fault);
    if (r < 0)
        fault_identify(fault, "invalid_parameter");
    else
        *ret_milliseconds = (int64_t)milliseconds;
    return r;
}

bool parameters_switch(const struct json_value *value)
{
    return value != NULL && value->boolean;
}

static int decode(const struct parameter *row, const struct json_value *value, size_t high,
                  struct parameter_data *data, struct fault *fault)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(high + 4);
    size_t wrong = 0;
    int r = base64_decode(&bytes, value->text, value->length, &wrong);
    if (r == -ENOMEM)
        return fault_set(fault, ENOMEM, "out of memory for a parameter");
    if (r == -ENOBUFS) {
        data->length = high + 1;
        return 0;
    }
    if (r < 0)
        return fault_set(fault, EINVAL, "the parameter \"%s\" is not base64: see its byte %zu",
                         row->name, wrong);
    data->bytes = buffer_string(&bytes);
    if (data->bytes == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a parameter");
    data->length = bytes.length;
    data->decoded = bytes.data;
    bytes = (struct buffer){0};
    return 0;
}

int parameters_data(const struct parameter *rows, const struct json_value *const *values,
                    size_t high, struct parameter_data *ret_data, struct fault *fault)
{
    *ret_data = (struct parameter_data){.bytes = ""};
    fault_identify(fault, "invalid_parameter");
    if (values[0] != NULL && values[1] != NULL)
        return fault_set(fault, EINVAL, "only one of the parameters \"%s\" and \"%s\" may be given",
                         rows[0].name, rows[1].name);
    const struct parameter *row = values[0] != NULL ? &rows[0] : &rows[1];
    int r = 0;
    ret_data->is_given = values[0] != NULL || values[1] != NULL;
    if (values[0] != NULL) {
        ret_data->bytes = values[0]->text;
        ret_data->length = values[0]->length;
    } else if (values[1] != NULL) {
        r = decode(row, values[1], high, ret_data, fault);
    }
    if (r == 0 && ret_data->length > high)
        r = fault_set(fault, EINVAL,
                      "the parameter \"%s\" has more than %zu bytes: send it in pieces", row->name,
                      high);
    if (r == 0)
        fault->id = NULL;
    return r;
}

void parameter_data_release(struct parameter_data *data)
{
    free(data->decoded);
    data->decoded = NULL;
}

static char *list_item(enum parameter_kind kind, const struct json_value *value)
{
    char *text = NULL;
    if (kind != PARAMETER_VARIABLES)
        return strdup(value->text);
    return asprintf(&text, "%s=%s", value->key, value->text) < 0 ? NULL : text;
}

static bool is_variable_name(const struct json_value *member)
{
    return member->key_length > 0 && memchr(member->key, '=', member->key_length) == NULL &&
           memchr(member->key, '\0', member->key_length) == NULL;
}

int parameters_list(const struct parameter *row, const struct json_value *value, char ***ret_list,
                    struct fault *fault)
{
    OWNED(parameter_list_release)
    char **list = calloc((value != NULL ? value->count : 0) + 1, sizeof(*list));
    const struct json_value *each = value != NULL ? value->first : NULL;
    if (list == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a parameter");
    for (size_t i = 0; each != NULL; each = each->next, i++) {
        if (row->kind == PARAMETER_VARIABLES && !is_variable_name(each)) {
            fault_identify(fault, "invalid_parameter");
            return fault_set(fault, EINVAL,
                             "the parameter \"%s\" has \"%s\", which is no name of a variable",
                             row->name, visible_name(each->key).text);
        }
        list[i] = list_item(row->kind, each);
        if (list[i] == NULL)
            return fault_set(fault, ENOMEM, "out of memory for a parameter");
    }
    *ret_list = pointer_take(&list);
    return 0;
}

void parameter_list_release(char ***list)
{
    for (char **item = *list; item != NULL && *item != NULL; item++)
        free(*item);
    free(*list);
    *list = NULL;
}
