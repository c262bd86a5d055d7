/*
 * What `tools` of Bash reads: whatever comes, no byte behind the end is read, values lie in it one behind the other, and a string
 * has no more than there is room for.
 */
#include "images/runners/bash/tools_json.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 64

static void check_value(struct json_span value)
{
    char text[ROOM + 1];
    text[ROOM] = '!';
    FUZZ_CHECK(value.at < value.end);
    size_t length = json_string_of(value, "name", text, ROOM);
    FUZZ_CHECK(length <= ROOM && text[ROOM] == '!');
    text_has_words((struct json_span){text, text + length}, "a name");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1); /* so that the sanitizer knows its end */
    FUZZ_CHECK(copy != NULL);
    if (length > 0)
        memcpy(copy, bytes, length);
    struct json_span value, list = json_inside((struct json_span){copy, copy + length});
    const char *last = copy;
    while (json_next(&list, &value)) {
        FUZZ_CHECK(value.at >= last && value.end <= copy + length);
        last = value.end;
        check_value(value);
    }
    free(copy);
    return 0;
}
