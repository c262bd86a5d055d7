/*
 * Messages of D-Bus: as much of them as a method call and its answer need.
 *
 * Side: parent, in a program of its own (main.c).  Source: D-Bus Specification, "Marshaling" and
 * "Message Format". Numbers are little-endian, as on every processor that this program is for.
 */
#ifndef SANDBOX_SCOPE_DBUS_MESSAGE_H
#define SANDBOX_SCOPE_DBUS_MESSAGE_H

#include "sandbox/base/buffer.h"

#include <stdint.h>

/* Bytes of a message. Those to be expected have a few hundred. */
#define DBUS_MESSAGE_MAX (64 * 1024)
/* Bytes of the fixed part of a header. */
#define DBUS_FIXED_HEADER 16
/* Bytes of a name ("Valid Names"), and of what is kept of a text. */
#define DBUS_NAME_MAX 255

/* Values one after the other, each with the padding before it. */
struct dbus_writer {
    struct buffer bytes;
    int error; /* of the first value that could not be written: -ENOBUFS or -ENOMEM; else 0 */
};

#define DBUS_WRITER ((struct dbus_writer){.bytes = BUFFER(DBUS_MESSAGE_MAX)})

struct dbus_call {
    uint32_t serial; /* not 0 */
    const char *destination;
    const char *path;
    const char *interface;
    const char *member;
    const char *signature; /* of the body; "" if it is empty */
};

enum dbus_type {
    DBUS_OTHER, /* a call, a signal, or what later versions have */
    DBUS_RETURN,
    DBUS_ERROR,
};

struct dbus_answer {
    enum dbus_type type;
    uint32_t reply_serial;              /* of the call; 0: it answers none */
    char error_name[DBUS_NAME_MAX + 1]; /* "" unless DBUS_ERROR */
    char error_text[DBUS_NAME_MAX + 1]; /* cut to fit; "" if there is none */
};

void dbus_put_number(struct dbus_writer *writer, uint32_t number);
void dbus_put_string(struct dbus_writer *writer, const char *text);
void dbus_put_signature(struct dbus_writer *writer, const char *signature);

/* What precedes a structure. */
void dbus_begin_structure(struct dbus_writer *writer);

/* An array of structures. Returns what dbus_end_array() needs to write its length. */
size_t dbus_begin_array(struct dbus_writer *writer);
void dbus_end_array(struct dbus_writer *writer, size_t begin);

void dbus_writer_release(struct dbus_writer *writer);

/* The message of a call with this body, whose error is passed on. 0, -ENOBUFS or -ENOMEM. */
int dbus_call_write(const struct dbus_call *call, const struct dbus_writer *body,
                    struct dbus_writer *message);

/*
 * The length of a whole message by its first DBUS_FIXED_HEADER bytes. 0; -EBADMSG: they do not
 * begin one, or one above DBUS_MESSAGE_MAX.
 */
int dbus_message_length(const char *header, size_t *ret_length);

/* Reads a whole message of this length, as of dbus_message_length(). 0; -EBADMSG: it is not one. */
int dbus_answer_read(const char *message, size_t length, struct dbus_answer *ret_answer);

#endif
