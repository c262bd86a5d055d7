/*
 * Reads JSON into a tree, and writes JSON call by call. The input is untrusted.
 *
 * Reading uses yajl's event parser to build our own tree, because yajl's tree cannot distinguish
 * "a\u0000b" from "a", loses integers beyond 2^63 and is freed recursively.
 *
 * Side: parent.  Source: RFC 8259; yajl 2.1 headers.
 */
#ifndef SANDBOX_BASE_JSON_H
#define SANDBOX_BASE_JSON_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 128       /* nested arrays and objects */
#define JSON_VALUES_MAX 262144   /* values in one document */

enum json_type {
    JSON_NULL,
    JSON_BOOLEAN,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_value {
    enum json_type type;
    bool boolean;               /* JSON_BOOLEAN */
    const char *text;           /* JSON_STRING: decoded UTF-8; JSON_NUMBER: as it was written */
    size_t length;              /* of text, in bytes; strings may hold NUL; a NUL follows too */
    const char *
        written; /* JSON_STRING with a lone surrogate, which text has as U+FFFD: as it was written, with its quotes */
    const char *key; /* when a member of an object: its name, as text above */
    size_t key_length;
    struct json_value *first; /* JSON_ARRAY, JSON_OBJECT: children in order */
    size_t count; /* number of children */
    struct json_value *next; /* sibling */
    size_t
        end; /* bytes of the document up to the end of a value, or to the beginning of what is in it */
};

struct json; /* owns every value and text of a document */

/*
 * Parses one JSON text of `length` bytes; only white space may surround it. Invalid UTF-8, a depth
 * or count over the maxima, and a lone surrogate's raw bytes are errors; a lone surrogate escape
 * (\ud800) is read as U+FFFD. 0; -EINVAL with a fault that gives the position; -E2BIG over a
 * maximum; -ENOMEM.
 */
int json_parse(const char *data, size_t length, struct json **ret_json, struct fault *fault);
const struct json_value *json_root(const struct json *json);
void json_free(struct json *json); /* NULL is fine */
void json_release(struct json **json);

/* The member of that name (the last of duplicates), or NULL; NULL for a non-object. */
const struct json_value *json_member(const struct json_value *object, const char *name);

/*
 * For files of an operator, where of two members of the same name one would go unheeded. 0; -EINVAL with a
 * fault that names it, if an object anywhere in the value has one twice; -ENOMEM with a fault.
 */
int json_check_unique(const struct json_value *value, struct fault *fault);

/* Whether a member of an object has exactly that name. */
bool json_key_is(const struct json_value *member, const char *name);

/* Whether `value` (may be NULL) is a string that equals `text` exactly. */
bool json_is(const struct json_value *value, const char *text);

/* 0 and the integer; -EINVAL not a JSON integer; -ERANGE. `value` may be NULL (-EINVAL). */
int json_integer(const struct json_value *value, int64_t *ret_integer);

/*
 * Writing. Text is appended to a buffer, compact, on one line. An error (no room) is kept and
 * returned by json_writer_close(); the calls in between need no checks.
 */
struct json_writer; /* owned by the caller from open to close */

int json_writer_open(struct buffer *target, struct json_writer **ret_writer);
int json_writer_close(struct json_writer *writer); /* frees; 0, -ENOBUFS, -ENOMEM, -EINVAL */

void json_begin_object(struct json_writer *writer);
void json_end_object(struct json_writer *writer);
void json_begin_array(struct json_writer *writer);
void json_end_array(struct json_writer *writer);
void json_key(struct json_writer *writer, const char *name);
/*
 * Writes arbitrary bytes. Each maximal ill-formed part of UTF-8 becomes U+FFFD (Unicode 3.9, D93b).
 */
void json_string(struct json_writer *writer, const char *data, size_t length);
/* Writes arbitrary bytes as a string of base64. */
void json_base64(struct json_writer *writer, const char *data, size_t length);
void json_text(struct json_writer *writer, const char *text);
void json_number(struct json_writer *writer, int64_t number);
void json_double(struct json_writer *writer, double number); /* finite; else null */
void json_boolean(struct json_writer *writer, bool value);
void json_null(struct json_writer *writer);
/* Writes text that is already one JSON value. */
void json_raw(struct json_writer *writer, const char *text, size_t length);
/* Writes a member of an object: key and value. NULL becomes null. */
void json_text_member(struct json_writer *writer, const char *name, const char *text);
void json_number_member(struct json_writer *writer, const char *name, int64_t number);
void json_boolean_member(struct json_writer *writer, const char *name, bool value);
/* Copies a parsed value, numbers digit by digit. */
void json_copy(struct json_writer *writer, const struct json_value *value);
/* Copies the members of an object but those of these names, up to NULL; and none with a NUL in its name. */
void json_copy_members(struct json_writer *writer, const struct json_value *object,
                       const char *const *except);

#endif
