/*
 * The subjects of wire.h: written from their words, and read again. Each word is of letters, digits, - and _, so
 * that no name can add a word or a wildcard; what is anything else is no subject of ours.
 *
 * Side: parent. Subjects come from the broker: untrusted.  Source: NATS, subject-based messaging.
 */
#ifndef FLEET_SUBJECT_H
#define FLEET_SUBJECT_H

#include "fleet/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUBJECT_WORD_SIZE 65 /* with its NUL */
#define SUBJECT_ID_SIZE 33 /* of a random name: 16 bytes in hexadecimal */

/* A call, or a question who is there. */
struct call_address {
    char environment[SUBJECT_WORD_SIZE];
    char front[SUBJECT_WORD_SIZE]; /* the user that the broker has let publish it */
    char instance[SUBJECT_ID_SIZE];
    uint64_t number; /* from 1 */
};

/* Where a front end answers a worker. */
struct question_address {
    char front[SUBJECT_WORD_SIZE];
    char worker[SUBJECT_ID_SIZE];
    uint64_t call, question; /* from 1 */
};

/* Whether it can be a word of a subject. */
bool subject_is_word(const char *text);

/* A name that nobody can guess. 0 or a negative errno. */
int subject_make_id(char ret_id[static SUBJECT_ID_SIZE]);

/* csm.KIND.POOL.ENVIRONMENT.FRONT.INSTANCE.NUMBER; `kind`: WIRE_RUN, WIRE_WHO, WIRE_HAS or WIRE_DROP. */
void subject_write_call(const char *kind, const char *pool, const struct call_address *address,
                        char ret_subject[static WIRE_SUBJECT_SIZE]);
bool subject_read_call(const char *subject, const char *kind, const char *pool,
                       struct call_address *ret_address);

/* csm.front.POOL.FRONT.INSTANCE.NUMBER. */
void subject_write_front(const char *pool, const struct call_address *address,
                         char ret_subject[static WIRE_SUBJECT_SIZE]);

/* csm.worker.POOL.FRONT.WORKER.CALL.QUESTION. */
void subject_write_question(const char *pool, const struct question_address *address,
                            char ret_subject[static WIRE_SUBJECT_SIZE]);
bool subject_read_question(const char *subject, const char *pool,
                           struct question_address *ret_address);

/* PREFIX.NUMBER. The number, from 1; 0: it is something else. */
uint64_t subject_read_number(const char *subject, const char *prefix);

#endif
