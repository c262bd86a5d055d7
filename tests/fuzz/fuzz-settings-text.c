/*
 * A file that a setting names: of pip, of npm or of constraints, as the first byte chooses. What is selected comes from
 * the file line by line, has no comments and no NUL, and stays the same when it is selected again.
 */
#include "images/build/settings_text.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { PIP, NPM, CONSTRAINTS, KINDS };

static int selected_of(int kind, const struct buffer *text, struct buffer *selected)
{
    return kind == CONSTRAINTS ? constraints_select(text, selected)
                               : settings_select(text, kind == NPM, selected);
}

static bool has_line(const struct buffer *text, const char *line, size_t length)
{
    return length == 0 || memmem(text->data, text->length, line, length) != NULL;
}

static void check_lines(const struct buffer *text, const struct buffer *selected)
{
    const char *at = selected->data;
    const char *end = selected->length > 0 ? at + selected->length : at;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        FUZZ_CHECK(newline != NULL);
        size_t length = (size_t)(newline - at);
        size_t blanks = 0;
        while (blanks < length && strchr(" \t\r", at[blanks]) != NULL)
            blanks++;
        FUZZ_CHECK(memchr(at, '\0', length) == NULL);
        FUZZ_CHECK(blanks == length || at[blanks] != '#');
        FUZZ_CHECK(has_line(text, at, length));
        at = newline + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    int kind = fuzz_byte(&input) % KINDS;
    /* In a block of its own size, so that AddressSanitizer sees who reads on. */
    OWNED_MEMORY char *bytes = malloc(input.size > 0 ? input.size : 1);
    FUZZ_CHECK(bytes != NULL);
    if (input.size > 0)
        memcpy(bytes, input.data, input.size);
    const struct buffer text = {
        .data = bytes, .length = input.size, .capacity = input.size, .maximum = input.size};
    OWNED(buffer_release) struct buffer selected = BUFFER(input.size + 1);
    int r = selected_of(kind, &text, &selected);
    FUZZ_CHECK(r >= 0 && (kind == CONSTRAINTS || r == 0));
    check_lines(&text, &selected);
    if (r == 0) {
        OWNED(buffer_release) struct buffer again = BUFFER(selected.length + 1);
        FUZZ_CHECK(selected_of(kind, &selected, &again) == 0);
        FUZZ_CHECK(again.length == selected.length);
        FUZZ_CHECK(again.length == 0 || memcmp(again.data, selected.data, again.length) == 0);
    }
    return 0;
}
