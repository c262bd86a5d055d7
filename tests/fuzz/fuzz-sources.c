/*
 * A file of apt's sources, in the format that the first byte chooses, and behind a NUL what apt says
 * of origins. What is written for apt from it names the same archives when it is read again, and
 * nothing that the file says can add one.
 */
#include "images/build/sources.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

static void check_list(const struct source_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct source *source = &list->items[i];
        size_t length = strlen(source->uri);
        FUZZ_CHECK(strpbrk(source->uri, " \t\r\n") == NULL);
        FUZZ_CHECK(length > 0 && source->uri[length - 1] != '/');
        FUZZ_CHECK(source->suite[0] != '\0' && strpbrk(source->suite, " \t\r\n") == NULL);
        length = strlen(source->options);
        FUZZ_CHECK(length == 0 || source->options[length - 1] == '\n');
    }
}

static void check_chosen(const struct source_list *list, const struct source *source)
{
    FUZZ_CHECK(source == NULL || (source >= list->items && source < list->items + list->count));
}

static void check_written(const struct debian_archive *archive, const char *text)
{
    const struct source *const chosen[] = {archive->main, archive->updates, archive->security};
    static const char *const suites[] = {"trixie", "trixie-updates", "trixie-security"};
    OWNED(source_list_release) struct source_list list = {0};
    FUZZ_CHECK(sources_parse_deb822(&list, text) == 0);
    size_t at = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(chosen); i++) {
        if (chosen[i] == NULL)
            continue;
        FUZZ_CHECK(at < list.count);
        FUZZ_CHECK(strcmp(list.items[at].uri, chosen[i]->uri) == 0);
        FUZZ_CHECK(strcmp(list.items[at].suite, suites[i]) == 0);
        FUZZ_CHECK(strcmp(list.items[at].options, chosen[i]->options) == 0);
        at++;
    }
    FUZZ_CHECK(at == list.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    bool is_deb822 = (fuzz_byte(&input) & 1) != 0;
    OWNED_MEMORY char *text = fuzz_rest(&input);
    fuzz_byte(&input);
    OWNED_MEMORY char *origins = fuzz_rest(&input);
    OWNED(source_list_release) struct source_list list = {0};
    FUZZ_CHECK((is_deb822 ? sources_parse_deb822 : sources_parse_lines)(&list, text) == 0);
    check_list(&list);
    struct debian_archive archive = sources_choose(&list, origins);
    check_chosen(&list, archive.main);
    check_chosen(&list, archive.updates);
    check_chosen(&list, archive.security);
    OWNED(buffer_release) struct buffer written = BUFFER(SOURCES_TEXT_MAX);
    FUZZ_CHECK(sources_write(&archive, "trixie", "amd64", &written) == 0);
    const char *all = buffer_string(&written);
    check_written(&archive, all != NULL ? all : "");
    return 0;
}
