#include "interpreter/cases/test_set.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_CODE_MAX 255
#define AT_ONCE_MAX 1024
#define WHITE " \t\r\n\v\f"

const char *const test_set_members[] = {"tests", "compare", "stop_at_first_failure", "parallel",
                                        NULL};

static const char *const comparisons[COMPARE_COUNT] = {
    [COMPARE_TRIMMED] = "trimmed", [COMPARE_EXACT] = "exact", [COMPARE_TOKENS] = "tokens"};

/* NULL also for null. */
static const struct json_value *member_of(const struct json_value *object, const char *name)
{
    const struct json_value *value = json_member(object, name);
    return value == NULL || value->type == JSON_NULL ? NULL : value;
}

static int refuse(struct fault *fault, size_t number, const char *member, const char *why)
{
    return fault_set(fault, EINVAL, "test %zu: \"%s\" %s", number, member, why);
}

static int read_arguments(struct test_case *test, const struct json_value *array, size_t number,
                          struct fault *fault)
{
    if (array->type != JSON_ARRAY)
        return refuse(fault, number, "args", "must be an array of strings");
    if (array->count > ARGUMENTS_MAX)
        return refuse(fault, number, "args", "has too many arguments");
    test->arguments = calloc(array->count + 1, sizeof(*test->arguments));
    if (test->arguments == NULL)
        return fault_set(fault, ENOMEM, "reading tests: %m");
    size_t at = 0;
    for (const struct json_value *it = array->first; it != NULL; it = it->next) {
        if (it->type != JSON_STRING || strlen(it->text) != it->length)
            return refuse(fault, number, "args", "must be an array of strings without NUL");
        test->arguments[at++] = it->text;
    }
    return 0;
}

static int read_files(struct test_case *test, const struct json_value *array, size_t number,
                      struct fault *fault)
{
    int r = input_files_read(&test->files, array, fault);
    if (r < 0)
        fault_prefix(fault, "test %zu: \"files\"", number);
    return r;
}

static int read_text(const struct json_value *value, const char *member, size_t number,
                     struct fault *fault)
{
    if (value->type != JSON_STRING)
        return refuse(fault, number, member, "must be a string");
    return value->length <= STDIN_MAX ? 0 : refuse(fault, number, member, "is too long");
}

static int read_member(struct test_case *test, const struct json_value *member, size_t number,
                       struct fault *fault)
{
    int64_t code;
    int r = 0;
    if (member->type == JSON_NULL)
        return 0;
    if (json_key_is(member, "stdin")) {
        r = read_text(member, "stdin", number, fault);
        test->stdin_source = (struct run_stdin){
            .kind = STDIN_BYTES, .bytes = member->text, .length = member->length};
    } else if (json_key_is(member, "expect")) {
        r = read_text(member, "expect", number, fault);
        test->expect = member->text;
        test->expect_length = member->length;
    } else if (json_key_is(member, "args")) {
        r = read_arguments(test, member, number, fault);
    } else if (json_key_is(member, "files")) {
        r = read_files(test, member, number, fault);
    } else if (json_key_is(member, "exit_code")) {
        if (json_integer(member, &code) < 0 || code < 0 || code > EXIT_CODE_MAX)
            return refuse(fault, number, "exit_code", "must be a whole number from 0 to 255");
        test->exit_code = (int)code;
    } else {
        return fault_set(
            fault, EINVAL,
            "test %zu has a member \"%s\": it may have stdin, args, files, expect and exit_code",
            number, visible_name(member->key).text);
    }
    return r;
}

static int read_tests(struct test_set *set, const struct json_value *array, struct fault *fault)
{
    if (array->type != JSON_ARRAY || array->count == 0)
        return fault_set(fault, EINVAL, "\"tests\" must be an array of one object or more");
    if (array->count > TESTS_MAX)
        return fault_set(fault, E2BIG, "\"tests\" has %zu tests: at most %d are accepted",
                         array->count, TESTS_MAX);
    set->list = calloc(array->count, sizeof(*set->list));
    if (set->list == NULL)
        return fault_set(fault, ENOMEM, "reading tests: %m");
    for (const struct json_value *it = array->first; it != NULL; it = it->next) {
        struct test_case *test = &set->list[set->count++];
        if (it->type != JSON_OBJECT)
            return fault_set(fault, EINVAL, "test %zu must be an object", set->count);
        for (const struct json_value *member = it->first; member != NULL; member = member->next) {
            int r = read_member(test, member, set->count, fault);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int read_comparison(struct test_set *set, const struct json_value *value,
                           struct fault *fault)
{
    size_t i = 0;
    while (value != NULL && i < COMPARE_COUNT && !json_is(value, comparisons[i]))
        i++;
    if (i == COMPARE_COUNT)
        return fault_set(fault, EINVAL, "\"compare\" must be \"trimmed\", \"exact\" or \"tokens\"");
    set->comparison = (enum test_comparison)i;
    return 0;
}

static int read_choices(struct test_set *set, const struct json_value *object, struct fault *fault)
{
    const struct json_value *stop = member_of(object, "stop_at_first_failure");
    const struct json_value *parallel = member_of(object, "parallel");
    int64_t number = 0;
    int r = read_comparison(set, member_of(object, "compare"), fault);
    if (r < 0)
        return r;
    if (stop != NULL && stop->type != JSON_BOOLEAN)
        return fault_set(fault, EINVAL, "\"stop_at_first_failure\" must be true or false");
    if (parallel != NULL &&
        (json_integer(parallel, &number) < 0 || number < 1 || number > AT_ONCE_MAX))
        return fault_set(fault, EINVAL, "\"parallel\" must be a whole number from 1 to %d",
                         AT_ONCE_MAX);
    set->stops_at_failure = stop != NULL && stop->boolean;
    set->parallel = (size_t)number;
    return 0;
}

/* The others say nothing without tests. */
static int check_alone(const struct json_value *object, struct fault *fault)
{
    for (const char *const *name = test_set_members + 1; *name != NULL; name++)
        if (member_of(object, *name) != NULL)
            return fault_set(fault, EINVAL, "\"%s\" is for \"tests\", which are missing", *name);
    return 0;
}

/* The object may go before the tests have run. */
static int copy_members(const struct json_value *object, struct json **ret_json,
                        struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LINE_IN_MAX);
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return fault_set(fault, -r, "reading tests: %m");
    json_begin_object(writer);
    for (const char *const *name = test_set_members; *name != NULL; name++) {
        const struct json_value *value = member_of(object, *name);
        if (value == NULL)
            continue;
        json_key(writer, *name);
        json_copy(writer, value);
    }
    json_end_object(writer);
    r = json_writer_close(writer);
    return r < 0 ? fault_set(fault, -r, "reading tests: %m")
                 : json_parse(text.data, text.length, ret_json, fault);
}

int test_set_read(const struct json_value *object, struct test_set *ret_set, struct fault *fault)
{
    *ret_set = (struct test_set){0};
    if (member_of(object, "tests") == NULL)
        return check_alone(object, fault);
    int r = copy_members(object, &ret_set->json, fault);
    if (r < 0)
        return r;
    const struct json_value *copy = json_root(ret_set->json);
    r = read_tests(ret_set, json_member(copy, "tests"), fault);
    return r < 0 ? r : read_choices(ret_set, copy, fault);
}

void test_set_release(struct test_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->list[i].arguments);
        input_files_release(&set->list[i].files);
    }
    free(set->list);
    json_release(&set->json);
    *set = (struct test_set){0};
}

/* A text that is read piece by piece. */
struct stretch {
    const char *at, *end;
};

static bool is_white(char letter)
{
    return letter != '\0' && strchr(WHITE, letter) != NULL;
}

static struct stretch next_word(struct stretch *text)
{
    while (text->at < text->end && is_white(*text->at))
        text->at++;
    struct stretch word = {text->at, text->at};
    while (word.end < text->end && !is_white(*word.end))
        word.end++;
    text->at = word.end;
    return word;
}

static struct stretch next_line(struct stretch *text)
{
    struct stretch line = {text->at, text->at};
    while (line.end < text->end && *line.end != '\n')
        line.end++;
    text->at = line.end < text->end ? line.end + 1 : line.end;
    while (line.end > line.at && is_white(line.end[-1]))
        line.end--;
    return line;
}

static bool is_same(struct stretch one, struct stretch other)
{
    size_t length = (size_t)(one.end - one.at);
    return length == (size_t)(other.end - other.at) &&
           (length == 0 || memcmp(one.at, other.at, length) == 0);
}

/* Both are read to their ends, where all further pieces are empty. */
static bool are_same(struct stretch one, struct stretch other,
                     struct stretch (*next)(struct stretch *text))
{
    while (one.at < one.end || other.at < other.end)
        if (!is_same(next(&one), next(&other)))
            return false;
    return true;
}

/* All of it, of which nothing is cut. */
static int join_output(const struct capture *out, struct buffer *ret_text)
{
    *ret_text = BUFFER(out->head.length + out->tail.length);
    int r = buffer_append(ret_text, out->head.data, out->head.length);
    return r < 0 ? r : buffer_append(ret_text, out->tail.data, out->tail.length);
}

bool test_case_passed(const struct test_case *test, enum test_comparison comparison,
                      const struct run_result *result)
{
    if (result->outcome != OUTCOME_EXITED || result->exit_code != test->exit_code)
        return false;
    if (test->expect == NULL)
        return true;
    OWNED(buffer_release) struct buffer text = {0};
    if (result->out.cut > 0 || join_output(&result->out, &text) < 0)
        return false; /* what is not kept cannot be compared */
    const char *out = text.length > 0 ? text.data : "";
    struct stretch shown = {out, out + text.length};
    struct stretch expected = {test->expect, test->expect + test->expect_length};
    if (comparison == COMPARE_EXACT)
        return is_same(shown, expected);
    return are_same(shown, expected, comparison == COMPARE_TOKENS ? next_word : next_line);
}
