/*
 * An environment file. Each line that counts sets a variable, told here once more; one that is refused
 * is refused with its number, and no byte of a value is in the message.
 */
#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/limits-check.h"

#include <string.h>

#define PATH "the/file"
#define SECRET '~' /* in no name and in no text of ours, so it marks what must not be shown */

/* How many lines want to set something. */
static size_t count_lines(const char *text, size_t length)
{
    size_t lines = 0;
    size_t at = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < length) {
        size_t end = at;
        while (end < length && text[end] != '\n')
            end++;
        size_t stop = end > at && text[end - 1] == '\r' ? end - 1 : end;
        while (at < stop && (text[at] == ' ' || text[at] == '\t'))
            at++;
        lines += at < stop && text[at] != '#';
        at = end + 1;
    }
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > ENVIRONMENT_FILE_MAX)
        return -1;
    OWNED_MEMORY char *text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    OWNED(environment_release) struct environment environment = {0};
    struct fault fault = {0};
    int r = environment_read_text(&environment, PATH, text, size, &fault);
    fuzz_check_fault(r, &fault);
    environment_check(&environment);
    size_t lines = count_lines(text, size);
    FUZZ_CHECK(r < 0 || (environment.count <= lines && (environment.count > 0) == (lines > 0)));
    if (r < 0) {
        FUZZ_CHECK(r == -EINVAL && strstr(fault.text, "line ") != NULL);
        FUZZ_CHECK(strstr(fault.text, PATH) != NULL && strchr(fault.text, SECRET) == NULL);
    }
    const char *texts[ENVIRONMENT_COUNT_MAX];
    for (size_t place = 0; place < LANGUAGE_COUNT; place++) {
        size_t count = environment_for(&environment, languages[place], texts);
        FUZZ_CHECK(count <= environment.count);
        for (size_t i = 0; i < count; i++)
            FUZZ_CHECK(memmem(text, size, texts[i], strlen(texts[i])) != NULL);
    }
    return 0;
}
