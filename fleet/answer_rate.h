/*
 * How many questions of front ends are answered: so many a second for each front end, and for all together. What is
 * above is not answered, so that nobody can make a worker write more than the broker passes on.
 *
 * Side: parent. Its functions may be called from any thread.
 */
#ifndef FLEET_ANSWER_RATE_H
#define FLEET_ANSWER_RATE_H

#include "fleet/subject.h"

#include <pthread.h>

/* Answers at once, and again so many a second later. */
struct answer_bound {
    unsigned burst, per_second;
};

struct answer_bucket {
    char front[SUBJECT_WORD_SIZE]; /* "": of nobody */
    double used; /* of the burst */
    int64_t at;  /* clock_now() */
};

/* Of more, the one that asked longest ago begins anew: without users in the broker, names are free. */
#define ANSWER_FRONTS_MAX 128

struct answer_rate {
    struct answer_bound of_front, of_all;
    pthread_mutex_t mutex; /* PTHREAD_MUTEX_INITIALIZER */
    struct answer_bucket all;
    struct answer_bucket fronts[ANSWER_FRONTS_MAX];
};

/* Whether a question of the front end is to be answered at this time of clock_now(). */
bool answer_rate_allows(struct answer_rate *rate, const char *front, int64_t now);

#endif
