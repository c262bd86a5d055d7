#include "fleet/word.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

#define LOWEST_PRINTED 0x20

static bool is_exactly(const char *data, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(data, word, length) == 0;
}

/* The text behind a first word that is not the last one. */
static bool take(const char *data, size_t length, const char *word, struct word *ret_word)
{
    size_t taken = strlen(word);
    if (length <= taken || memcmp(data, word, taken) != 0)
        return false;
    ret_word->text = data + taken;
    ret_word->length = length - taken;
    return true;
}

/* Decimal, as we write it, with a space behind it, or at the end. */
static bool take_number(struct word *word, bool is_last, size_t *ret_number)
{
    size_t number = 0, used = 0;
    while (used < word->length && word->text[used] >= '0' && word->text[used] <= '9') {
        number = 10 * number + (size_t)(word->text[used] - '0');
        if (number > WIRE_COUNT_MAX || (used > 0 && word->text[0] == '0'))
            return false;
        used++;
    }
    if (used == 0 || is_last != (used == word->length) || (!is_last && word->text[used] != ' '))
        return false;
    used += !is_last;
    word->text += used;
    word->length -= used;
    *ret_number = number;
    return true;
}

static bool is_part(struct word *word)
{
    return take_number(word, false, &word->index) && take_number(word, false, &word->count) &&
           word->index < word->count && word->length > 0;
}

bool word_read(const char *data, size_t length, struct word *ret_word)
{
    struct word word = {0};
    bool is_good = true;
    if (is_exactly(data, length, WIRE_ALIVE)) {
        word.kind = WORD_ALIVE;
    } else if (is_exactly(data, length, WIRE_STORED)) {
        word.kind = WORD_STORED;
    } else if (take(data, length, WIRE_TAKEN, &word)) {
        word.kind = WORD_TAKEN;
    } else if (take(data, length, WIRE_LOST, &word)) {
        word.kind = WORD_LOST;
    } else if (take(data, length, WIRE_PART, &word)) {
        word.kind = WORD_PART;
        is_good = is_part(&word);
    } else if (take(data, length, WIRE_ABSENT " ", &word)) {
        word.kind = WORD_ABSENT;
        is_good = take_number(&word, true, &word.count);
    } else {
        return false;
    }
    if (is_good)
        *ret_word = word;
    return is_good;
}

enum word_answer word_read_answer(const char *data, size_t length)
{
    return is_exactly(data, length, WIRE_GO)     ? WORD_GO
           : is_exactly(data, length, WIRE_GONE) ? WORD_GONE
                                                 : WORD_NEITHER;
}

int word_check_line(const char *line, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    int64_t id;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < LOWEST_PRINTED)
            return -EBADMSG;
    int r = json_parse(line, length, &json, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    const struct json_value *root = json_root(json);
    const struct json_value *result = json_member(root, "result");
    return root->type == JSON_OBJECT && root->count == 2 && result != NULL &&
                   result->type == JSON_OBJECT && json_integer(json_member(root, "id"), &id) == 0
               ? 0
               : -EBADMSG;
}
