#include "sandbox/scope/dbus_message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BYTE_ORDER_MARK 'l'
#define PROTOCOL_VERSION 1
#define STRUCTURE_ALIGNMENT 8

/* "Message Types" and "Header Fields". */
enum { TYPE_CALL = 1, TYPE_RETURN = 2, TYPE_ERROR = 3 };
enum {
    FIELD_PATH = 1,
    FIELD_INTERFACE = 2,
    FIELD_MEMBER = 3,
    FIELD_ERROR_NAME = 4,
    FIELD_REPLY_SERIAL = 5,
    FIELD_DESTINATION = 6,
    FIELD_SIGNATURE = 8,
};

/* As on the wire. */
struct fixed_header {
    uint8_t byte_order;
    uint8_t type;
    uint8_t flags;
    uint8_t version;
    uint32_t body_length;
    uint32_t serial;
    uint32_t fields_length;
};
_Static_assert(sizeof(struct fixed_header) == DBUS_FIXED_HEADER, "it has no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

/* What has been read of a message. */
struct dbus_reader {
    const char *bytes;
    size_t length;
    size_t at;
};

static size_t aligned(size_t length, size_t alignment)
{
    return (length + alignment - 1) / alignment * alignment;
}

static void put(struct dbus_writer *writer, size_t alignment, const void *bytes, size_t length)
{
    static const char zeros[STRUCTURE_ALIGNMENT];
    struct buffer *buffer = &writer->bytes;
    size_t padding = aligned(buffer->length, alignment) - buffer->length;
    if (writer->error == 0)
        writer->error = buffer_append(buffer, zeros, padding);
    if (writer->error == 0)
        writer->error = buffer_append(buffer, bytes, length);
}

void dbus_put_number(struct dbus_writer *writer, uint32_t number)
{
    put(writer, sizeof(number), &number, sizeof(number));
}

void dbus_put_string(struct dbus_writer *writer, const char *text)
{
    size_t length = strlen(text);
    dbus_put_number(writer, (uint32_t)length);
    put(writer, 1, text, length + 1);
}

void dbus_put_signature(struct dbus_writer *writer, const char *signature)
{
    uint8_t length = (uint8_t)strlen(signature);
    put(writer, 1, &length, sizeof(length));
    put(writer, 1, signature, (size_t)length + 1);
}

void dbus_begin_structure(struct dbus_writer *writer)
{
    put(writer, STRUCTURE_ALIGNMENT, "", 0);
}

size_t dbus_begin_array(struct dbus_writer *writer)
{
    dbus_put_number(writer, 0);
    size_t begin = writer->bytes.length;
    dbus_begin_structure(writer); /* even if the array stays empty */
    return begin;
}

void dbus_end_array(struct dbus_writer *writer, size_t begin)
{
    if (writer->error != 0)
        return;
    uint32_t length = (uint32_t)(writer->bytes.length - aligned(begin, STRUCTURE_ALIGNMENT));
    memcpy(writer->bytes.data + begin - sizeof(length), &length, sizeof(length));
}

void dbus_writer_release(struct dbus_writer *writer)
{
    buffer_release(&writer->bytes);
}

static void put_field(struct dbus_writer *writer, uint8_t field, const char *type, const char *text)
{
    dbus_begin_structure(writer);
    put(writer, 1, &field, sizeof(field));
    dbus_put_signature(writer, type);
    if (type[0] == 'g')
        dbus_put_signature(writer, text);
    else
        dbus_put_string(writer, text);
}

int dbus_call_write(const struct dbus_call *call, const struct dbus_writer *body,
                    struct dbus_writer *message)
{
    const struct fixed_header header = {
        .byte_order = BYTE_ORDER_MARK,
        .type = TYPE_CALL,
        .version = PROTOCOL_VERSION,
        .body_length = (uint32_t)body->bytes.length,
        .serial = call->serial,
    };
    put(message, 1, &header, offsetof(struct fixed_header, fields_length));
    size_t fields = dbus_begin_array(message);
    put_field(message, FIELD_PATH, "o", call->path);
    put_field(message, FIELD_DESTINATION, "s", call->destination);
    put_field(message, FIELD_INTERFACE, "s", call->interface);
    put_field(message, FIELD_MEMBER, "s", call->member);
    if (call->signature[0] != '\0')
        put_field(message, FIELD_SIGNATURE, "g", call->signature);
    dbus_end_array(message, fields);
    dbus_begin_structure(message); /* so is the body aligned, even if it is empty */
    if (body->bytes.length > 0)
        put(message, 1, body->bytes.data, body->bytes.length);
    return body->error != 0 ? body->error : message->error;
}

int dbus_message_length(const char *bytes, size_t *ret_length)
{
    struct fixed_header header;
    memcpy(&header, bytes, sizeof(header));
    if (header.byte_order != BYTE_ORDER_MARK || header.version != PROTOCOL_VERSION ||
        header.fields_length > DBUS_MESSAGE_MAX || header.body_length > DBUS_MESSAGE_MAX)
        return -EBADMSG;
    size_t length =
        aligned(sizeof(header) + header.fields_length, STRUCTURE_ALIGNMENT) + header.body_length;
    if (length > DBUS_MESSAGE_MAX)
        return -EBADMSG;
    *ret_length = length;
    return 0;
}

/* The next bytes, after padding; NULL: there are fewer. */
static const char *take(struct dbus_reader *reader, size_t alignment, size_t length)
{
    size_t begin = aligned(reader->at, alignment);
    if (begin > reader->length || length > reader->length - begin)
        return NULL;
    reader->at = begin + length;
    return reader->bytes + begin;
}

static int take_number(struct dbus_reader *reader, uint32_t *ret_number)
{
    const char *bytes = take(reader, sizeof(*ret_number), sizeof(*ret_number));
    if (bytes == NULL)
        return -EBADMSG;
    memcpy(ret_number, bytes, sizeof(*ret_number));
    return 0;
}

/* A text of `length` bytes with its NUL. */
static const char *take_text(struct dbus_reader *reader, size_t length)
{
    const char *text = take(reader, 1, length + 1);
    return text != NULL && strnlen(text, length + 1) == length ? text : NULL;
}

static const char *take_string(struct dbus_reader *reader)
{
    uint32_t length;
    return take_number(reader, &length) == 0 ? take_text(reader, length) : NULL;
}

static const char *take_signature(struct dbus_reader *reader)
{
    const char *length = take(reader, 1, 1);
    return length != NULL ? take_text(reader, (uint8_t)*length) : NULL;
}

static void keep(char kept[DBUS_NAME_MAX + 1], const char *text)
{
    kept[0] = '\0';
    strncat(kept, text, DBUS_NAME_MAX);
}

/* One field of the header. Those that are not for us only have to be of a known type. */
static int read_field(struct dbus_reader *reader, struct dbus_answer *answer,
                      const char **signature)
{
    const char *field = take(reader, STRUCTURE_ALIGNMENT, 1);
    const char *type = field != NULL ? take_signature(reader) : NULL;
    if (type == NULL)
        return -EBADMSG;
    uint32_t number = 0;
    const char *text = "";
    if (strcmp(type, "u") == 0)
        text = take_number(reader, &number) == 0 ? text : NULL;
    else if (strcmp(type, "g") == 0)
        text = take_signature(reader);
    else
        text = strcmp(type, "s") == 0 || strcmp(type, "o") == 0 ? take_string(reader) : NULL;
    if (text == NULL)
        return -EBADMSG;
    if (*field == FIELD_ERROR_NAME)
        keep(answer->error_name, text);
    else if (*field == FIELD_REPLY_SERIAL)
        answer->reply_serial = number;
    else if (*field == FIELD_SIGNATURE)
        *signature = text;
    return 0;
}

int dbus_answer_read(const char *message, size_t length, struct dbus_answer *ret_answer)
{
    struct fixed_header header;
    size_t expected;
    if (length < sizeof(header) || dbus_message_length(message, &expected) < 0 ||
        expected != length)
        return -EBADMSG;
    memcpy(&header, message, sizeof(header));
    struct dbus_answer answer = {.type = header.type == TYPE_RETURN  ? DBUS_RETURN
                                         : header.type == TYPE_ERROR ? DBUS_ERROR
                                                                     : DBUS_OTHER};
    struct dbus_reader fields = {message, sizeof(header) + header.fields_length, sizeof(header)};
    const char *signature = "";
    while (fields.at < fields.length) {
        int r = read_field(&fields, &answer, &signature);
        if (r < 0)
            return r;
    }
    if (answer.type != DBUS_ERROR) {
        answer.error_name[0] = '\0';
    } else if (signature[0] == 's') {
        struct dbus_reader body = {message, length, length - header.body_length};
        const char *text = take_string(&body);
        if (text == NULL)
            return -EBADMSG;
        keep(answer.error_text, text);
    }
    *ret_answer = answer;
    return 0;
}
