/*
 * Maintainer scripts, one behind the other with a NUL between. Each link that comes of them is a
 * plain name with absolute paths, known without a shell; each name has one master, whose slaves go
 * with it.
 */
#include "images/build/alternatives.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static bool is_plain(const char *word)
{
    return strpbrk(word, "$`*?") == NULL;
}

static void check_alternative(const struct alternative_list *list, size_t at)
{
    const struct alternative *item = &list->items[at];
    FUZZ_CHECK(item->link[0] == '/' && item->path[0] == '/' && strchr(item->name, '/') == NULL);
    FUZZ_CHECK(is_plain(item->link) && is_plain(item->name) && is_plain(item->path));
    bool has_master = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct alternative *other = &list->items[i];
        has_master |=
            strcmp(other->name, item->master) == 0 && strcmp(other->master, item->master) == 0;
        /* All that goes with one master has its priority. */
        FUZZ_CHECK(strcmp(other->master, item->master) != 0 || other->priority == item->priority);
    }
    FUZZ_CHECK(has_master);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED(alternative_list_release) struct alternative_list list = {0};
    while (input.size > 0) {
        OWNED_MEMORY char *script = fuzz_rest(&input);
        fuzz_byte(&input);
        FUZZ_CHECK(alternatives_parse(&list, script) == 0);
    }
    for (size_t i = 0; i < list.count; i++)
        check_alternative(&list, i);
    return 0;
}
