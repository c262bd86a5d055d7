#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#define CHUNK_SIZE 16384

/* Values and texts are allocated from chunks, and all freed together. */
struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

struct json {
    struct chunk *chunks;
    struct json_value *root;
    size_t count;
};

/* The state of the tree while the parser reports events. */
struct builder {
    struct json *json;
    yajl_handle parser; /* borrowed */
    const char
        *mended; /* borrowed: the document with U+FFFD for lone surrogates; NULL: it has none */
    const char *original; /* borrowed: as it was written, of the same length */
    struct json_value *open[JSON_DEPTH_MAX]; /* the enclosing arrays and objects */
    struct json_value *last[JSON_DEPTH_MAX]; /* the newest child of each, or NULL */
    size_t depth;
    const char *key; /* of the next member */
    size_t key_length;
    int error; /* why a callback stopped the parser: a negative errno */
};

static void *take_bytes(struct json *json, size_t size)
{
    size_t rounded = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    struct chunk *chunk = json->chunks;
    if (chunk == NULL || chunk->size - chunk->used < rounded) {
        size_t room = rounded > CHUNK_SIZE ? rounded : CHUNK_SIZE;
        chunk = malloc(sizeof(*chunk) + room);
        if (chunk == NULL)
            return NULL;
        *chunk = (struct chunk){.next = json->chunks, .size = room};
        json->chunks = chunk;
    }
    void *taken = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return taken;
}

static const char *take_text(struct json *json, const unsigned char *text, size_t length)
{
    char *copy = take_bytes(json, length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static void link_value(struct builder *builder, struct json_value *value)
{
    if (builder->depth == 0) {
        builder->json->root = value;
        return;
    }
    size_t inner = builder->depth - 1;
    struct json_value *parent = builder->open[inner];
    if (builder->last[inner] == NULL)
        parent->first = value;
    else
        builder->last[inner]->next = value;
    builder->last[inner] = value;
    parent->count++;
    value->key = builder->key;
    value->key_length = builder->key_length;
    builder->key = NULL;
    builder->key_length = 0;
}

/* Adds a new value at the parser's position; NULL with builder->error set. */
static struct json_value *add_value(struct builder *builder, enum json_type type)
{
    if (builder->json->count == JSON_VALUES_MAX) {
        builder->error = -E2BIG;
        return NULL;
    }
    struct json_value *value = take_bytes(builder->json, sizeof(*value));
    if (value == NULL) {
        builder->error = -ENOMEM;
        return NULL;
    }
    *value = (struct json_value){.type = type, .end = yajl_get_bytes_consumed(builder->parser)};
    builder->json->count++;
    link_value(builder, value);
    return value;
}

static int add_text(struct builder *builder, enum json_type type, const unsigned char *text,
                    size_t length)
{
    struct json_value *value = add_value(builder, type);
    if (value == NULL)
        return 0;
    value->text = take_text(builder->json, text, length);
    value->length = length;
    if (value->text == NULL)
        builder->error = -ENOMEM;
    return value->text != NULL;
}

static int begin_container(struct builder *builder, enum json_type type)
{
    if (builder->depth == JSON_DEPTH_MAX) {
        builder->error = -E2BIG;
        return 0;
    }
    struct json_value *value = add_value(builder, type);
    if (value == NULL)
        return 0;
    builder->open[builder->depth] = value;
    builder->last[builder->depth] = NULL;
    builder->depth++;
    return 1;
}

static int on_null(void *data)
{
    return add_value(data, JSON_NULL) != NULL;
}

static int on_boolean(void *data, int boolean)
{
    struct json_value *value = add_value(data, JSON_BOOLEAN);
    if (value == NULL)
        return 0;
    value->boolean = boolean != 0;
    return 1;
}

static int on_number(void *data, const char *text, size_t length)
{
    return add_text(data, JSON_NUMBER, (const unsigned char *)text, length);
}

/* Keeps how the string that ends at value->end was written, if it was mended. Whether there was memory. */
static bool keep_written(struct builder *builder, struct json_value *value)
{
    const char *text = builder->mended;
    size_t begin = value->end;
    size_t slashes = 1;
    if (text == NULL || begin < 2 || text[begin - 1] != '"')
        return true;
    /* To the quote that begins it: one in it has an odd number of backslashes before it. */
    for (begin--; begin > 0 && slashes % 2 == 1;) {
        begin--;
        slashes = 1;
        if (text[begin] != '"')
            continue;
        slashes = 0;
        while (slashes < begin && text[begin - 1 - slashes] == '\\')
            slashes++;
    }
    size_t length = value->end - begin;
    if (memcmp(text + begin, builder->original + begin, length) == 0)
        return true;
    value->written =
        take_text(builder->json, (const unsigned char *)builder->original + begin, length);
    return value->written != NULL;
}

static int on_string(void *data, const unsigned char *text, size_t length)
{
    struct builder *builder = data;
    if (!add_text(builder, JSON_STRING, text, length))
        return 0;
    struct json_value *value =
        builder->depth == 0 ? builder->json->root : builder->last[builder->depth - 1];
    if (!keep_written(builder, value))
        builder->error = -ENOMEM;
    return value->written != NULL || builder->error == 0;
}

static int on_key(void *data, const unsigned char *text, size_t length)
{
    struct builder *builder = data;
    builder->key = take_text(builder->json, text, length);
    builder->key_length = length;
    if (builder->key == NULL)
        builder->error = -ENOMEM;
    return builder->key != NULL;
}

static int on_begin_object(void *data)
{
    return begin_container(data, JSON_OBJECT);
}

static int on_begin_array(void *data)
{
    return begin_container(data, JSON_ARRAY);
}

static int on_end(void *data)
{
    struct builder *builder = data;
    builder->depth--;
    return 1;
}

/* The code unit of a \uXXXX escape at `text`, which has `length` bytes; -1: no such escape. */
static long escaped_unit(const char *text, size_t length)
{
    if (length < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    char digits[5] = {0};
    memcpy(digits, text + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

static bool is_high_surrogate(long unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(long unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The position of the next \uXXXX escape that is a lone surrogate, or `length`. */
static size_t find_lone_surrogate(const char *data, size_t length, size_t position)
{
    const char *slash;
    while (position < length && (slash = memchr(data + position, '\\', length - position))) {
        position = (size_t)(slash - data);
        long unit = escaped_unit(slash, length - position);
        if (is_low_surrogate(unit))
            return position;
        if (!is_high_surrogate(unit)) {
            position += 2; /* past the escape's letter, which may itself be a backslash */
            continue;
        }
        position += 6;
        if (!is_low_surrogate(escaped_unit(slash + 6, length - position)))
            return position - 6;
        position += 6;
    }
    return length;
}

/*
 * yajl reads a lone high surrogate as "?" or merges it with the next escape, and a lone low
 * surrogate as invalid UTF-8. So each is replaced beforehand by the escape of U+FFFD, which has the
 * same length. Backslashes outside of strings are errors anyway. 0 and the copy, or NULL if there
 * is none to replace.
 */
static int mend_surrogates(const char *data, size_t length, char **ret_copy)
{
    size_t lone = find_lone_surrogate(data, length, 0);
    if (lone == length)
        return 0;
    char *copy = malloc(length);
    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, data, length);
    for (; lone < length; lone = find_lone_surrogate(data, length, lone + 6))
        memcpy(copy + lone, "\\ufffd", 6);
    *ret_copy = copy;
    return 0;
}

static void parser_release(yajl_handle *parser)
{
    if (*parser != NULL)
        yajl_free(*parser);
}

static int explain_failure(yajl_handle parser, const struct builder *builder, struct fault *fault)
{
    size_t offset = yajl_get_bytes_consumed(parser);
    if (builder->error == -E2BIG)
        return fault_set(fault, E2BIG,
                         "the JSON is nested deeper than %d levels or has more than %d values "
                         "(at byte %zu)",
                         JSON_DEPTH_MAX, JSON_VALUES_MAX, offset);
    if (builder->error != 0)
        return fault_set(fault, -builder->error, "reading JSON: %m");
    unsigned char *message = yajl_get_error(parser, 0, NULL, 0);
    int length = message != NULL ? (int)strcspn((const char *)message, "\n") : 0;
    int r = fault_set(fault, EINVAL, "not valid JSON at byte %zu: %.*s", offset, length,
                      length > 0 ? (const char *)message : "");
    yajl_free_error(parser, message);
    return r;
}

/* `mended` is NULL if there was nothing to mend. */
static int parse_events(const char *original, const char *mended, size_t length, struct json *json,
                        struct fault *fault)
{
    const char *data = mended != NULL ? mended : original;
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_begin_object,
        .yajl_map_key = on_key,
        .yajl_end_map = on_end,
        .yajl_start_array = on_begin_array,
        .yajl_end_array = on_end,
    };
    struct builder builder = {.json = json, .mended = mended, .original = original};
    OWNED(parser_release) yajl_handle parser = yajl_alloc(&callbacks, NULL, &builder);
    if (parser == NULL)
        return fault_set(fault, ENOMEM, "reading JSON: %m");
    builder.parser = parser;
    yajl_status status = yajl_parse(parser, (const unsigned char *)data, length);
    if (status == yajl_status_ok)
        status = yajl_complete_parse(parser);
    if (status != yajl_status_ok)
        return explain_failure(parser, &builder, fault);
    /*
     * yajl overlooks an unterminated string after the value. A newline, invalid in a string,
     * reveals it.
     */
    if (yajl_parse(parser, (const unsigned char *)"\n", 1) != yajl_status_ok)
        return fault_set(fault, EINVAL,
                         "not valid JSON: a string that does not end follows the value");
    return 0;
}

/*
 * Refuses what yajl accepts wrongly: overlong forms, surrogates, and two extra kinds of white
 * space.
 */
static int check_bytes(const char *data, size_t length, struct fault *fault)
{
    size_t valid = utf8_valid_length(data, length);
    if (valid < length)
        return fault_set(fault, EINVAL, "not valid JSON: byte %zu is not UTF-8", valid);
    const char *space = length > 0 ? memchr(data, '\v', length) : NULL;
    if (space == NULL && length > 0)
        space = memchr(data, '\f', length);
    if (space == NULL)
        return 0;
    return fault_set(fault, EINVAL, "not valid JSON: byte %zu is a control character",
                     (size_t)(space - data));
}

int json_parse(const char *data, size_t length, struct json **ret_json, struct fault *fault)
{
    int r = check_bytes(data, length, fault);
    if (r < 0)
        return r;
    OWNED_MEMORY char *mended = NULL;
    if (mend_surrogates(data, length, &mended) < 0)
        return fault_set(fault, ENOMEM, "reading JSON: %m");
    OWNED(json_release) struct json *json = calloc(1, sizeof(*json));
    if (json == NULL)
        return fault_set(fault, ENOMEM, "reading JSON: %m");
    r = parse_events(data, mended, length, json, fault);
    if (r < 0)
        return r;
    *ret_json = pointer_take(&json);
    return 0;
}

const struct json_value *json_root(const struct json *json)
{
    return json->root;
}

void json_free(struct json *json)
{
    if (json == NULL)
        return;
    struct chunk *chunk = json->chunks;
    while (chunk != NULL) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(json);
}

void json_release(struct json **json)
{
    json_free(*json);
    *json = NULL;
}

bool json_key_is(const struct json_value *member, const char *name)
{
    return member->key_length == strlen(name) && memcmp(member->key, name, member->key_length) == 0;
}

const struct json_value *json_member(const struct json_value *object, const char *name)
{
    if (object == NULL || object->type != JSON_OBJECT)
        return NULL;
    const struct json_value *found = NULL;
    for (const struct json_value *child = object->first; child != NULL; child = child->next) {
        if (json_key_is(child, name))
            found = child;
    }
    return found;
}

static int compare_keys(const void *one, const void *other)
{
    const struct json_value *a = *(const struct json_value *const *)one;
    const struct json_value *b = *(const struct json_value *const *)other;
    size_t length = a->key_length < b->key_length ? a->key_length : b->key_length;
    int r = memcmp(a->key, b->key, length);
    return r != 0 ? r : (a->key_length > b->key_length) - (a->key_length < b->key_length);
}

static int check_keys(const struct json_value *object, struct fault *fault)
{
    OWNED_MEMORY const struct json_value **sorted = calloc(object->count, sizeof(*sorted));
    size_t count = 0;
    if (sorted == NULL)
        return object->count == 0 ? 0 : fault_set(fault, ENOMEM, "reading JSON: %m");
    for (const struct json_value *child = object->first; child != NULL; child = child->next)
        sorted[count++] = child;
    qsort(sorted, count, sizeof(*sorted), compare_keys);
    for (size_t i = 1; i < count; i++)
        if (compare_keys(&sorted[i - 1], &sorted[i]) == 0)
            return fault_set(fault, EINVAL, "the key \"%.40s\" appears twice: remove one",
                             sorted[i]->key);
    return 0;
}

int json_check_unique(const struct json_value *value, struct fault *fault)
{
    int r = value->type == JSON_OBJECT ? check_keys(value, fault) : 0;
    for (const struct json_value *child = value->first; r == 0 && child != NULL;
         child = child->next)
        r = json_check_unique(child, fault);
    return r;
}

bool json_is(const struct json_value *value, const char *text)
{
    return value != NULL && value->type == JSON_STRING && value->length == strlen(text) &&
           memcmp(value->text, text, value->length) == 0;
}

int json_integer(const struct json_value *value, int64_t *ret_integer)
{
    if (value == NULL || value->type != JSON_NUMBER || strpbrk(value->text, ".eE") != NULL)
        return -EINVAL;
    errno = 0;
    long long integer = strtoll(value->text, NULL, 10);
    if (errno == ERANGE)
        return -ERANGE;
    *ret_integer = integer;
    return 0;
}
