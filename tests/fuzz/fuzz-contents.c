/*
 * The list of what is in a layer: any text. What is taken is sorted, is the same as itself, and a list
 * without one of its entries differs in just that one.
 */
#include "images/build/contents.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

struct told {
    size_t count;
    const char *path;
    const char *what;
};

static void tell(void *data, const struct difference *difference)
{
    struct told *told = data;
    told->count++;
    told->path = difference->path;
    told->what = difference->what;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *text = fuzz_rest(&input);
    OWNED(contents_release) struct contents contents = {0};
    struct fault fault = {0};
    int r = contents_parse(text, &contents, &fault);
    fuzz_check_fault(r, &fault);
    struct told told = {0};
    FUZZ_CHECK(contents_compare(&contents, &contents, tell, &told) == 0 && told.count == 0);
    for (size_t i = 0; i < contents.count; i++) {
        FUZZ_CHECK(strpbrk(contents.entries[i].path, " \n") == NULL);
        FUZZ_CHECK(i == 0 || strcmp(contents.entries[i - 1].path, contents.entries[i].path) < 0);
    }
    if (contents.count == 0)
        return 0;
    const struct contents shorter = {.entries = contents.entries + 1, .count = contents.count - 1};
    FUZZ_CHECK(contents_compare(&contents, &shorter, tell, &told) == 1);
    FUZZ_CHECK(told.path == contents.entries[0].path && strcmp(told.what, "missing") == 0);
    FUZZ_CHECK(contents_compare(&shorter, &contents, tell, &told) == 1);
    FUZZ_CHECK(told.path == contents.entries[0].path && strcmp(told.what, "added") == 0);
    return 0;
}
