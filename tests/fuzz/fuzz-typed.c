/*
 * Code as people type it: each language says one of three things about it, the same twice, and reads nothing beside it; a line
 * comment behind it changes nothing where it is whole.
 */
#include "interpreter/languages/typed.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static enum typed ask(enum typed (*of)(const char *, size_t), const char *code, size_t length,
                      const char *more)
{
    size_t more_length = strlen(more);
    char *copy = malloc(length + more_length); /* no byte more, for the sanitizer to see */
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, code, length);
    memcpy(copy + length, more, more_length);
    enum typed first = of(copy, length + more_length);
    FUZZ_CHECK(first == of(copy, length + more_length));
    FUZZ_CHECK(first == TYPED_WHOLE || first == TYPED_BLOCK || first == TYPED_OPEN);
    free(copy);
    return first;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *code = (const char *)data;
    if (ask(typed_python, code, size, "\n") == TYPED_WHOLE)
        FUZZ_CHECK(ask(typed_python, code, size, "\n# more\n") != TYPED_OPEN);
    if (ask(typed_javascript, code, size, "\n") == TYPED_WHOLE)
        FUZZ_CHECK(ask(typed_javascript, code, size, "\n// more\n") != TYPED_OPEN);
    ask(typed_bash, code, size, "\n");
    return 0;
}
