/*
 * What comes from a broker, any bytes: a line of text is a subject, what is left is what a worker or a front end says.
 * What is read as a subject of ours is written again as the same subject; a word is one of those that wire.h has; and a
 * result that is accepted adds no line and no member to the line that it becomes part of.
 */
#include "fleet/subject.h"
#include "fleet/word.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#define POOL "default"
#define PREFIX "csm.inbox.front.0123456789abcdef0123456789abcdef"

static void check_words(const char *subject, size_t words)
{
    size_t dots = 0;
    for (const char *at = subject; *at != '\0'; at++)
        dots += *at == '.';
    FUZZ_CHECK(dots + 1 == words && strpbrk(subject, "*> \t\r\n") == NULL);
}

static void try_call(const char *subject, const char *kind)
{
    struct call_address address;
    char again[WIRE_SUBJECT_SIZE];
    if (!subject_read_call(subject, kind, POOL, &address))
        return;
    subject_write_call(kind, POOL, &address, again);
    FUZZ_CHECK(strcmp(subject, again) == 0 && address.number > 0);
    FUZZ_CHECK(subject_is_word(address.front) && subject_is_word(address.environment));
    subject_write_front(POOL, &address, again);
    check_words(again, 6);
}

static void try_subject(const char *subject)
{
    struct question_address address;
    char again[WIRE_SUBJECT_SIZE];
    try_call(subject, WIRE_RUN);
    try_call(subject, WIRE_WHO);
    try_call(subject, WIRE_HAS);
    try_call(subject, WIRE_DROP);
    if (subject_read_question(subject, POOL, &address)) {
        subject_write_question(POOL, &address, again);
        FUZZ_CHECK(strcmp(subject, again) == 0 && address.call > 0 && address.question > 0);
        check_words(again, 7);
    }
    uint64_t number = subject_read_number(subject, PREFIX);
    if (number == 0)
        return;
    snprintf(again, sizeof(again), PREFIX ".%llu", (unsigned long long)number);
    FUZZ_CHECK(strcmp(subject, again) == 0);
}

static void try_word(const char *data, size_t size)
{
    struct word word;
    enum word_answer answer = word_read_answer(data, size);
    bool is_word = word_read(data, size, &word);
    FUZZ_CHECK(answer == WORD_NEITHER || !is_word);
    if (!is_word || word.kind == WORD_ALIVE || word.kind == WORD_STORED ||
        word.kind == WORD_ABSENT) {
        FUZZ_CHECK(!is_word || word.count <= WIRE_COUNT_MAX);
        return;
    }
    FUZZ_CHECK(word.length > 0 && word.text > data && word.text + word.length == data + size);
    FUZZ_CHECK(word.kind != WORD_PART || (word.index < word.count && word.count <= WIRE_COUNT_MAX));
}

/* As sent_calls.c makes a line of it. */
static void try_result(const char *data, size_t size)
{
    OWNED(buffer_release) struct buffer line = BUFFER(size + 64);
    FUZZ_CHECK(buffer_append_text(&line, "{\"id\":7,\"result\":") == 0);
    FUZZ_CHECK(buffer_append(&line, data, size) == 0 && buffer_append_text(&line, "}") == 0);
    if (word_check_line(line.data, line.length) < 0)
        return;
    FUZZ_CHECK(memchr(line.data, '\n', line.length) == NULL);
    OWNED(json_release) struct json *json = fuzz_parse(&line);
    const struct json_value *root = json_root(json);
    int64_t id = 0;
    FUZZ_CHECK(root->count == 2 && json_integer(json_member(root, "id"), &id) == 0 && id == 7);
    FUZZ_CHECK(json_member(root, "result")->type == JSON_OBJECT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *subject = fuzz_line(&input);
    if (subject != NULL)
        try_subject(subject);
    try_word((const char *)input.data, input.size);
    try_result((const char *)input.data, input.size);
    return 0;
}
