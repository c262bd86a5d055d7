#include "fleet/subject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define WORD_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define ID_CHARACTERS "0123456789abcdef"
#define DIGITS "0123456789"
#define DIGITS_MAX 18 /* so that no number overflows */

bool subject_is_word(const char *text)
{
    size_t length = strspn(text, WORD_CHARACTERS);
    return length > 0 && length < SUBJECT_WORD_SIZE && text[length] == '\0';
}

int subject_make_id(char ret_id[static SUBJECT_ID_SIZE])
{
    unsigned char bytes[(SUBJECT_ID_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -EIO;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret_id + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

void subject_write_call(const char *kind, const char *pool, const struct call_address *address,
                        char ret_subject[static WIRE_SUBJECT_SIZE])
{
    snprintf(ret_subject, WIRE_SUBJECT_SIZE, "csm.%s.%s.%s.%s.%s.%" PRIu64, kind, pool,
             address->environment, address->front, address->instance, address->number);
}

void subject_write_front(const char *pool, const struct call_address *address,
                         char ret_subject[static WIRE_SUBJECT_SIZE])
{
    snprintf(ret_subject, WIRE_SUBJECT_SIZE, "csm.front.%s.%s.%s.%" PRIu64, pool, address->front,
             address->instance, address->number);
}

void subject_write_question(const char *pool, const struct question_address *address,
                            char ret_subject[static WIRE_SUBJECT_SIZE])
{
    snprintf(ret_subject, WIRE_SUBJECT_SIZE, "csm.worker.%s.%s.%s.%" PRIu64 ".%" PRIu64, pool,
             address->front, address->worker, address->call, address->question);
}

/* The functions below take the next word off. False: it is another one; then nothing is taken. */

static bool take_end(const char **at, size_t length)
{
    const char *end = *at + length;
    if (*end != '.' && *end != '\0')
        return false;
    *at = *end == '.' ? end + 1 : end;
    return true;
}

static bool take_this(const char **at, const char *word)
{
    size_t length = strlen(word);
    return strncmp(*at, word, length) == 0 && take_end(at, length);
}

static bool take_word(const char **at, const char *characters, char *ret_word, size_t size)
{
    const char *word = *at;
    size_t length = strspn(word, characters);
    if (length == 0 || length >= size || !take_end(at, length))
        return false;
    memcpy(ret_word, word, length);
    ret_word[length] = '\0';
    return true;
}

/* As we write it: without zeros before it. */
static bool take_number(const char **at, uint64_t *ret_number)
{
    char digits[DIGITS_MAX + 1];
    if (**at == '0' || !take_word(at, DIGITS, digits, sizeof(digits)))
        return false;
    return sscanf(digits, "%" SCNu64, ret_number) == 1;
}

static bool take_id(const char **at, char ret_id[static SUBJECT_ID_SIZE])
{
    return take_word(at, ID_CHARACTERS, ret_id, SUBJECT_ID_SIZE) &&
           strlen(ret_id) == SUBJECT_ID_SIZE - 1;
}

/* Nothing follows, not even a dot. */
static bool is_over(const char *subject, const char *at)
{
    return *at == '\0' && at > subject && at[-1] != '.';
}

bool subject_read_call(const char *subject, const char *kind, const char *pool,
                       struct call_address *ret_address)
{
    struct call_address address;
    const char *at = subject;
    if (!take_this(&at, "csm") || !take_this(&at, kind) || !take_this(&at, pool) ||
        !take_word(&at, WORD_CHARACTERS, address.environment, sizeof(address.environment)) ||
        !take_word(&at, WORD_CHARACTERS, address.front, sizeof(address.front)) ||
        !take_id(&at, address.instance) || !take_number(&at, &address.number) ||
        !is_over(subject, at))
        return false;
    *ret_address = address;
    return true;
}

bool subject_read_question(const char *subject, const char *pool,
                           struct question_address *ret_address)
{
    struct question_address address;
    const char *at = subject;
    if (!take_this(&at, "csm") || !take_this(&at, "worker") || !take_this(&at, pool) ||
        !take_word(&at, WORD_CHARACTERS, address.front, sizeof(address.front)) ||
        !take_id(&at, address.worker) || !take_number(&at, &address.call) ||
        !take_number(&at, &address.question) || !is_over(subject, at))
        return false;
    *ret_address = address;
    return true;
}

uint64_t subject_read_number(const char *subject, const char *prefix)
{
    uint64_t number;
    size_t length = strlen(prefix);
    if (strncmp(subject, prefix, length) != 0 || subject[length] != '.')
        return 0;
    const char *at = subject + length + 1;
    return take_number(&at, &number) && is_over(subject, at) ? number : 0;
}
