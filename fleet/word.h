/*
 * What workers and front ends tell each other about a call (wire.h), read by what is known: anything else is none.
 *
 * Side: parent. It comes from other machines: untrusted.
 */
#ifndef FLEET_WORD_H
#define FLEET_WORD_H

#include "fleet/wire.h"

#include <stdbool.h>
#include <stddef.h>

enum word_kind {
    WORD_TAKEN, /* text: the worker's name */
    WORD_ALIVE,
    WORD_PART,  /* text: bytes; index, count */
    WORD_LOST,  /* text: why */
    WORD_STORED,
    WORD_ABSENT, /* count: of calls that the queue takes; 0: not known */
};

struct word {
    enum word_kind kind;
    const char *text; /* borrowed; not NUL-terminated */
    size_t length;
    size_t index, count; /* of a part: index < count <= WIRE_COUNT_MAX */
};

/* What a worker says. False: it is nothing that a worker says. */
bool word_read(const char *data, size_t length, struct word *ret_word);

enum word_answer { WORD_GO, WORD_GONE, WORD_NEITHER };

/* What a front end answers. */
enum word_answer word_read_answer(const char *data, size_t length);

/*
 * Whether {"id":N,"result":...}, with the parts of a result as they came, is one line of JSON with these two members
 * and an object as result: nothing that a worker sends adds a line or a member to ours. 0; -EBADMSG; -ENOMEM.
 */
int word_check_line(const char *line, size_t length);

#endif
