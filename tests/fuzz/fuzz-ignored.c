/*
 * The first line is a path, the rest both rules of .gitignore and, from its first NUL on, an index of git: neither
 * reader leaves its bytes, a rule decides on the path in finite time, and each path of the index is found.
 */
#include "tests/fuzz/fuzz.h"

#include "interpreter/changes/ignore.h"
#include "interpreter/changes/tracked.h"
#include "sandbox/base/owned.h"

#include <string.h>

static void check_rules(const char *path, const char *rules, size_t length)
{
    struct ignore ignore = {0};
    FUZZ_CHECK(ignore_add(&ignore, 0, rules, length) == 0);
    size_t count = ignore.count;
    FUZZ_CHECK(count <= IGNORE_RULES_MAX);
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(ignore.rules[i].pattern[0] != '\0' && ignore.rules[i].base == 0);
    /* What a rule for files has, one for directories has as well. */
    FUZZ_CHECK(!ignore_has(&ignore, path, false) || ignore_has(&ignore, path, true) ||
               memchr(rules, '!', length) != NULL);
    ignore_drop(&ignore, count);
    FUZZ_CHECK(ignore.count == count);
    ignore_drop(&ignore, 0);
}

static void check_index(const char *bytes, size_t size)
{
    OWNED(tracked_release) struct tracked tracked = {0};
    char *copy = malloc(size > 0 ? size : 1);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    FUZZ_CHECK(tracked_read(&tracked, copy, size) == 0);
    FUZZ_CHECK(tracked.is_known || !tracked_has(&tracked, "a"));
    for (size_t i = 0; i < tracked.count; i++) {
        const char *path = tracked.paths[i];
        FUZZ_CHECK(path > copy && path + strlen(path) < copy + size);
    }
    if (tracked.is_known && tracked.count == 1)
        FUZZ_CHECK(tracked_has(&tracked, tracked.paths[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = memchr(data, '\n', size);
    OWNED_MEMORY char *path =
        newline != NULL ? strndup((const char *)data, (size_t)(newline - data)) : NULL;
    if (path == NULL || path[0] == '\0')
        return 0;
    const char *rest = (const char *)newline + 1;
    size_t length = size - (size_t)(newline + 1 - data);
    const char *index = memchr(rest, '\0', length);
    check_rules(path, rest, index != NULL ? (size_t)(index - rest) : length);
    if (index != NULL)
        check_index(index + 1, (size_t)(rest + length - index - 1));
    return 0;
}
