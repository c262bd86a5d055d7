#include "sandbox/base/base64.h"
#include "sandbox/base/json.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_writer {
    struct buffer *target; /* borrowed */
    int error;
    size_t depth;
    bool comma;      /* this level already has a value */
    bool after_key;  /* the value of a member comes next */
};

int json_writer_open(struct buffer *target, struct json_writer **ret_writer)
{
    struct json_writer *writer = calloc(1, sizeof(*writer));
    if (writer == NULL)
        return -ENOMEM;
    writer->target = target;
    *ret_writer = writer;
    return 0;
}

int json_writer_close(struct json_writer *writer)
{
    int error = writer->error;
    if (error == 0 && (writer->depth != 0 || writer->after_key))
        error = -EINVAL;
    free(writer);
    return error;
}

static void put(struct json_writer *writer, const char *data, size_t length)
{
    if (writer->error == 0)
        writer->error = buffer_append(writer->target, data, length);
}

static void put_text(struct json_writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

/* Called before a key, and before a value without a key. */
static void separate(struct json_writer *writer)
{
    if (writer->comma && !writer->after_key)
        put(writer, ",", 1);
    writer->after_key = false;
    writer->comma = true;
}

static void begin(struct json_writer *writer, const char *bracket)
{
    separate(writer);
    put(writer, bracket, 1);
    writer->comma = false;
    writer->depth++;
}

static void end(struct json_writer *writer, const char *bracket)
{
    if (writer->depth == 0 || writer->after_key) {
        writer->error = -EINVAL;
        return;
    }
    put(writer, bracket, 1);
    writer->comma = true;
    writer->depth--;
}

void json_begin_object(struct json_writer *writer)
{
    begin(writer, "{");
}

void json_end_object(struct json_writer *writer)
{
    end(writer, "}");
}

void json_begin_array(struct json_writer *writer)
{
    begin(writer, "[");
}

void json_end_array(struct json_writer *writer)
{
    end(writer, "]");
}

static void put_escaped(struct json_writer *writer, unsigned char byte)
{
    static const char short_names[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *found = byte != '\0' ? strchr(short_names, byte) : NULL;
    char text[7] = {'\\', 'u'};
    if (found != NULL)
        text[1] = letters[found - short_names];
    else
        snprintf(text + 2, sizeof(text) - 2, "%04x", byte);
    put_text(writer, text);
}

/* A character of ASCII that stands for itself. */
static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

static void put_quoted(struct json_writer *writer, const char *data, size_t length)
{
    put(writer, "\"", 1);
    size_t plain = 0; /* start of the bytes to be copied unchanged */
    size_t position = 0;
    while (position < length) {
        bool valid;
        if (is_plain((unsigned char)data[position])) {
            position++;
            continue;
        }
        size_t step = utf8_step(data + position, length - position, &valid);
        unsigned char byte = (unsigned char)data[position];
        bool escape = byte < 0x20 || byte == '"' || byte == '\\';
        if (valid && !escape) {
            position += step;
            continue;
        }
        put(writer, data + plain, position - plain);
        if (valid)
            put_escaped(writer, byte);
        else
            put_text(writer, UTF8_REPLACEMENT);
        position += step;
        plain = position;
    }
    if (position > plain) /* data may be NULL if empty */
        put(writer, data + plain, position - plain);
    put(writer, "\"", 1);
}

static void put_key(struct json_writer *writer, const char *name, size_t length)
{
    if (writer->after_key)
        writer->error = -EINVAL;
    separate(writer);
    put_quoted(writer, name, length);
    put(writer, ":", 1);
    writer->after_key = true;
}

void json_key(struct json_writer *writer, const char *name)
{
    put_key(writer, name, strlen(name));
}

void json_string(struct json_writer *writer, const char *data, size_t length)
{
    separate(writer);
    put_quoted(writer, data, length);
}

void json_base64(struct json_writer *writer, const char *data, size_t length)
{
    separate(writer);
    put(writer, "\"", 1);
    if (writer->error == 0)
        writer->error = base64_append(writer->target, data, length);
    put(writer, "\"", 1);
}

void json_text(struct json_writer *writer, const char *text)
{
    json_string(writer, text, strlen(text));
}

void json_number(struct json_writer *writer, int64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, number);
    separate(writer);
    put_text(writer, text);
}

void json_double(struct json_writer *writer, double number)
{
    if (!isfinite(number)) {
        json_null(writer);
        return;
    }
    char text[32];
    int digits = 15; /* 17 are always exact; fewer usually suffice and are easier to read */
    do {
        snprintf(text, sizeof(text), "%.*g", digits, number);
    } while (strtod(text, NULL) != number && digits++ < 17);
    separate(writer);
    put_text(writer, text);
}

void json_boolean(struct json_writer *writer, bool value)
{
    separate(writer);
    put_text(writer, value ? "true" : "false");
}

void json_null(struct json_writer *writer)
{
    separate(writer);
    put_text(writer, "null");
}

void json_raw(struct json_writer *writer, const char *text, size_t length)
{
    separate(writer);
    put(writer, text, length);
}

static void copy_children(struct json_writer *writer, const struct json_value *parent)
{
    for (const struct json_value *child = parent->first; child != NULL; child = child->next) {
        if (parent->type == JSON_OBJECT)
            put_key(writer, child->key, child->key_length);
        json_copy(writer, child); /* as deep as the parser allows: JSON_DEPTH_MAX */
    }
}

void json_copy(struct json_writer *writer, const struct json_value *value)
{
    switch (value->type) {
    case JSON_NULL:
        json_null(writer);
        break;
    case JSON_BOOLEAN:
        json_boolean(writer, value->boolean);
        break;
    case JSON_NUMBER:
        json_raw(writer, value->text, value->length);
        break;
    case JSON_STRING:
        json_string(writer, value->text, value->length);
        break;
    case JSON_ARRAY:
        json_begin_array(writer);
        copy_children(writer, value);
        json_end_array(writer);
        break;
    case JSON_OBJECT:
        json_begin_object(writer);
        copy_children(writer, value);
        json_end_object(writer);
        break;
    }
}

void json_text_member(struct json_writer *writer, const char *name, const char *text)
{
    json_key(writer, name);
    if (text != NULL)
        json_text(writer, text);
    else
        json_null(writer);
}

void json_number_member(struct json_writer *writer, const char *name, int64_t number)
{
    json_key(writer, name);
    json_number(writer, number);
}

void json_boolean_member(struct json_writer *writer, const char *name, bool value)
{
    json_key(writer, name);
    json_boolean(writer, value);
}

static bool is_one_of(const struct json_value *member, const char *const *names)
{
    for (; *names != NULL; names++)
        if (json_key_is(member, *names))
            return true;
    return false;
}

void json_copy_members(struct json_writer *writer, const struct json_value *object,
                       const char *const *except)
{
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        if (is_one_of(member, except) || strlen(member->key) != member->key_length)
            continue;
        json_key(writer, member->key);
        json_copy(writer, member);
    }
}
