/*
 * json_parse() accepts what RFC 8259 does and nothing else, as an independent reader here tells;
 * what it accepts comes out of the writer as text that gives the same tree, and the same text again.
 */
#include "tests/fuzz/fuzz.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define TEXT_MAX (64 << 20)

/* RFC 8259 once more, as short as it goes: whether there is a value at `at`, and where it ends. */
struct oracle {
    const char *at, *end;
    size_t values;
    size_t deepest;
};

static bool read_value(struct oracle *oracle, size_t depth);

static char peek(const struct oracle *oracle)
{
    return oracle->at < oracle->end ? *oracle->at : '\0';
}

static bool take(struct oracle *oracle, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(oracle->end - oracle->at) < length || memcmp(oracle->at, text, length) != 0)
        return false;
    oracle->at += length;
    return true;
}

static void skip_space(struct oracle *oracle)
{
    while (oracle->at < oracle->end && memchr(" \t\r\n", *oracle->at, 4) != NULL)
        oracle->at++;
}

static size_t take_digits(struct oracle *oracle)
{
    const char *start = oracle->at;
    while (isdigit((unsigned char)peek(oracle)))
        oracle->at++;
    return (size_t)(oracle->at - start);
}

/* Section 6. */
static bool read_number(struct oracle *oracle)
{
    take(oracle, "-");
    if (!take(oracle, "0") && take_digits(oracle) == 0)
        return false;
    if (take(oracle, ".") && take_digits(oracle) == 0)
        return false;
    if (!take(oracle, "e") && !take(oracle, "E"))
        return true;
    if (!take(oracle, "+"))
        take(oracle, "-");
    return take_digits(oracle) > 0;
}

/* Section 7; that the bytes are UTF-8 is known. */
static bool read_string(struct oracle *oracle)
{
    if (!take(oracle, "\""))
        return false;
    while (oracle->at < oracle->end && *oracle->at != '"') {
        if ((unsigned char)*oracle->at < 0x20)
            return false;
        if (*oracle->at++ != '\\')
            continue;
        char escape = peek(oracle);
        if (escape == '\0' || strchr("\"\\/bfnrtu", escape) == NULL)
            return false;
        oracle->at++;
        for (int i = 0; escape == 'u' && i < 4; i++) {
            if (!isxdigit((unsigned char)peek(oracle)))
                return false;
            oracle->at++;
        }
    }
    return take(oracle, "\"");
}

/* Sections 4 and 5: what stands between the brackets, and the closing one. */
static bool read_children(struct oracle *oracle, size_t depth, bool named, const char *close)
{
    skip_space(oracle);
    if (take(oracle, close))
        return true;
    do {
        skip_space(oracle);
        if (named && !read_string(oracle))
            return false;
        skip_space(oracle);
        if (named && !take(oracle, ":"))
            return false;
        if (!read_value(oracle, depth))
            return false;
        skip_space(oracle);
    } while (take(oracle, ","));
    return take(oracle, close);
}

static bool read_value(struct oracle *oracle, size_t depth)
{
    skip_space(oracle);
    oracle->values++;
    bool is_object = peek(oracle) == '{';
    if (is_object || peek(oracle) == '[') {
        oracle->at++;
        depth++;
        oracle->deepest = depth > oracle->deepest ? depth : oracle->deepest;
        /* Deeper ones are refused whatever they hold. */
        return depth <= JSON_DEPTH_MAX &&
               read_children(oracle, depth, is_object, is_object ? "}" : "]");
    }
    if (peek(oracle) == '"')
        return read_string(oracle);
    return take(oracle, "true") || take(oracle, "false") || take(oracle, "null") ||
           read_number(oracle);
}

static bool is_acceptable(const char *data, size_t size)
{
    struct oracle oracle = {.at = data, .end = data + size};
    if (utf8_valid_length(data, size) != size || !read_value(&oracle, 0))
        return false;
    skip_space(&oracle);
    return oracle.at == oracle.end && oracle.deepest <= JSON_DEPTH_MAX &&
           oracle.values <= JSON_VALUES_MAX;
}

static void write_tree(const struct json_value *root, struct buffer *text)
{
    struct json_writer *writer = NULL;
    FUZZ_CHECK(json_writer_open(text, &writer) == 0);
    json_copy(writer, root);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    FUZZ_CHECK(memchr(text->data, '\n', text->length) == NULL);
}

/* What is promised of each value in json.h. */
static void check_values(const struct json_value *value)
{
    int64_t integer = 0;
    int r = json_integer(value, &integer);
    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -ERANGE);
    FUZZ_CHECK(r != 0 || value->type == JSON_NUMBER);
    if (value->text != NULL) {
        FUZZ_CHECK(value->text[value->length] == '\0');
        FUZZ_CHECK(utf8_valid_length(value->text, value->length) == value->length);
    }
    size_t count = 0;
    for (const struct json_value *child = value->first; child != NULL; child = child->next) {
        FUZZ_CHECK((child->key != NULL) == (value->type == JSON_OBJECT));
        check_values(child);
        count++;
    }
    FUZZ_CHECK(count == value->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault fault = {0};
    OWNED(json_release) struct json *json = NULL;
    int r = json_parse((const char *)data, size, &json, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK((json != NULL) == (r == 0));
    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -E2BIG);
    FUZZ_CHECK((r == 0) == is_acceptable((const char *)data, size));
    if (r < 0)
        return 0;
    check_values(json_root(json));
    OWNED(buffer_release) struct buffer once = BUFFER(TEXT_MAX);
    OWNED(buffer_release) struct buffer twice = BUFFER(TEXT_MAX);
    write_tree(json_root(json), &once);
    OWNED(json_release) struct json *again = fuzz_parse(&once);
    FUZZ_CHECK(fuzz_json_same(json_root(json), json_root(again)));
    write_tree(json_root(again), &twice);
    FUZZ_CHECK(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    return 0;
}
