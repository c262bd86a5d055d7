/*
 * Settings of git: each value lies in the text and ends there, the reader gets to the end, and a file of a
 * repository with any content leads to no more.
 */
#include "tests/fuzz/fuzz.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/folders/git_files.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED_MEMORY char *text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    size_t length = strlen(text);
    char section[GIT_SECTION_SIZE] = "";
    enum git_setting setting;
    char *at = text;
    char *before = text;
    const char *value;
    while ((value = git_settings_next(&at, section, &setting)) != NULL) {
        FUZZ_CHECK(value >= before && at >= value && at <= text + length);
        FUZZ_CHECK(memchr(value, '\0', (size_t)(text + length + 1 - value)) != NULL);
        FUZZ_CHECK(value + strlen(value) <= at);
        FUZZ_CHECK(memchr(section, '\0', sizeof(section)) != NULL);
        before = at;
    }
    FUZZ_CHECK(at == text + length);

    memcpy(text, data, size);
    const char *path = git_file_gitdir(text);
    FUZZ_CHECK(path == NULL || (path[0] != '\0' && path < text + size));
    return 0;
}
