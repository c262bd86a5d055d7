/*
 * Any text as a program: the names that are found have their bounds, are the same twice, and have nothing in them that could be a
 * path, an option or another word; no byte behind the text is read.
 */
#include "interpreter/languages/main_class.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"

static struct main_class find(const uint8_t *data, size_t size)
{
    OWNED_MEMORY char *copy =
        malloc(size > 0 ? size : 1); /* no byte more, for the sanitizer to see */
    FUZZ_CHECK(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return main_class_find(copy, size);
}

/* Dots only where there may be a package. */
static void check_name(const char *name, size_t room, bool has_package)
{
    size_t length = strnlen(name, room);
    FUZZ_CHECK(length > 0 && length < room && name[0] != '.');
    for (size_t i = 0; i < length; i++)
        FUZZ_CHECK((unsigned char)name[i] >= 0x80 || strchr(LETTERS, name[i]) != NULL ||
                   (has_package && name[i] == '.'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct main_class found = find(data, size), again = find(data, size);
    check_name(found.file, sizeof(found.file), false);
    check_name(found.main, sizeof(found.main), true);
    FUZZ_CHECK(strcmp(found.file, again.file) == 0 && strcmp(found.main, again.main) == 0);
    return 0;
}
