#include "sandbox/base/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_FIRST_CAPACITY 256

int buffer_reserve(struct buffer *buffer, size_t length)
{
    if (length > buffer->maximum || buffer->length > buffer->maximum - length)
        return -ENOBUFS;
    size_t needed = buffer->length + length;
    if (needed <= buffer->capacity)
        return 0;
    size_t capacity = buffer->capacity != 0 ? buffer->capacity : BUFFER_FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (data == NULL)
        return -ENOMEM;
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

int buffer_append(struct buffer *buffer, const void *data, size_t length)
{
    if (length == 0)
        return 0;
    int r = buffer_reserve(buffer, length);
    if (r < 0)
        return r;
    memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
    return 0;
}

int buffer_append_text(struct buffer *buffer, const char *text)
{
    return buffer_append(buffer, text, strlen(text));
}

int buffer_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return -ENOMEM;
    int r = buffer_append(buffer, text, (size_t)length);
    free(text);
    return r;
}

void buffer_consume(struct buffer *buffer, size_t length)
{
    if (length == 0) /* also if data is NULL, which memmove(3) does not accept */
        return;
    buffer->length -= length;
    memmove(buffer->data, buffer->data + length, buffer->length);
}

char *buffer_string(struct buffer *buffer)
{
    if (buffer_append(buffer, "", 1) < 0)
        return NULL;
    buffer->length--;
    return buffer->data;
}

void buffer_move(struct buffer *to, struct buffer *from)
{
    size_t maximum = to->maximum;
    free(to->data);
    *to = *from;
    to->maximum = maximum;
    *from = BUFFER(from->maximum);
}

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    buffer->data = NULL;
    buffer->length = 0;
    buffer->capacity = 0;
}
