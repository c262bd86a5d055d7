#include "sandbox/base/spelling.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 64

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Insertions, deletions, replacements and swaps of neighbours needed to turn one word into the
 * other (optimal string alignment); SIZE_MAX for words too long to compare.
 */
static size_t edit_distance(const char *from, const char *to)
{
    size_t from_length = strlen(from);
    size_t to_length = strlen(to);
    if (from_length > WORD_MAX || to_length > WORD_MAX)
        return SIZE_MAX;
    size_t cost[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= from_length; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= to_length; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= from_length; i++) {
        for (size_t j = 1; j <= to_length; j++) {
            size_t replaced = cost[i - 1][j - 1] + (from[i - 1] != to[j - 1]);
            cost[i][j] = least(replaced, least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[from_length][to_length];
}

struct spelling spelling_of(const char *word)
{
    return (struct spelling){.word = word, .distance = SIZE_MAX};
}

void spelling_offer(struct spelling *spelling, const char *candidate)
{
    size_t distance = edit_distance(spelling->word, candidate);
    size_t tolerated = strlen(candidate) <= 4 ? 1 : 1 + strlen(candidate) / 4;
    /* A prefix always counts as near: "--time" for "--timeout". */
    size_t length = strlen(spelling->word);
    if (length >= 3 && strncmp(spelling->word, candidate, length) == 0)
        tolerated = distance;
    if (distance <= tolerated && distance < spelling->distance) {
        spelling->nearest = candidate;
        spelling->distance = distance;
    }
}
