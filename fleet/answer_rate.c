#include "fleet/answer_rate.h"

#include "sandbox/base/loop.h"

#include <stdio.h>
#include <string.h>

static void refill(struct answer_bucket *bucket, const struct answer_bound *bound, int64_t now)
{
    double refilled = (double)(now - bucket->at) / NANOSECONDS_PER_SECOND * bound->per_second;
    bucket->used = bucket->used > refilled ? bucket->used - refilled : 0;
    bucket->at = now;
}

static bool has_one(const struct answer_bucket *bucket, const struct answer_bound *bound)
{
    return bucket->used + 1 <= bound->burst;
}

/* Its own, or that of the front end that asked longest ago. */
static struct answer_bucket *find_bucket(struct answer_rate *rate, const char *front, int64_t now)
{
    struct answer_bucket *oldest = &rate->fronts[0];
    for (size_t i = 0; i < ANSWER_FRONTS_MAX; i++) {
        struct answer_bucket *bucket = &rate->fronts[i];
        if (strcmp(bucket->front, front) == 0)
            return bucket;
        if (bucket->at < oldest->at)
            oldest = bucket;
    }
    *oldest = (struct answer_bucket){.at = now};
    snprintf(oldest->front, sizeof(oldest->front), "%s", front);
    return oldest;
}

bool answer_rate_allows(struct answer_rate *rate, const char *front, int64_t now)
{
    pthread_mutex_lock(&rate->mutex);
    struct answer_bucket *bucket = find_bucket(rate, front, now);
    refill(bucket, &rate->of_front, now);
    refill(&rate->all, &rate->of_all, now);
    bool is_allowed = has_one(bucket, &rate->of_front) && has_one(&rate->all, &rate->of_all);
    if (is_allowed) {
        bucket->used++;
        rate->all.used++;
    }
    pthread_mutex_unlock(&rate->mutex);
    return is_allowed;
}
