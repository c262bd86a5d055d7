/*
 * A growing byte buffer with a maximum: it refuses to grow past it.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_BUFFER_H
#define SANDBOX_BASE_BUFFER_H

#include <stdarg.h>
#include <stddef.h>

struct buffer {
    char *data;       /* owned; NULL while empty; not NUL-terminated */
    size_t length;    /* bytes in use */
    size_t capacity;  /* bytes allocated */
    size_t maximum;   /* hard bound on length */
};

#define BUFFER(max) ((struct buffer){.maximum = (max)})

/* Appends, all or nothing. 0; -ENOBUFS past the maximum; -ENOMEM. */
int buffer_append(struct buffer *buffer, const void *data, size_t length);
int buffer_append_text(struct buffer *buffer, const char *text);
int buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Makes room for `length` more bytes after the bytes in use, for read(2). Returns like
 * buffer_append().
 */
int buffer_reserve(struct buffer *buffer, size_t length);

/* Drops `length` bytes from the front; length <= buffer->length. */
void buffer_consume(struct buffer *buffer, size_t length);

/* Appends a NUL, not counted in length, and returns data as a string; NULL if there is no room. */
char *buffer_string(struct buffer *buffer);

/* Gives the bytes of `from` to `to`, whose own are freed; each keeps its maximum. */
void buffer_move(struct buffer *to, struct buffer *from);

/* Frees the bytes. The buffer is then empty and reusable. */
void buffer_release(struct buffer *buffer);

#endif
