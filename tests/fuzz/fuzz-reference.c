/*
 * References as users type them: what is taken is written in its long form, which reads as the same
 * again, and its parts hold nothing but what may stand in a URL.
 */
#include "images/base/reference.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyz0123456789._-/"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *text = fuzz_rest(&input);
    struct reference reference = {0}, again = {0};
    struct fault fault = {0};
    int r = reference_parse(text, &reference, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0)
        return 0;
    FUZZ_CHECK(strspn(reference.repository, PLAIN) == strlen(reference.repository));
    FUZZ_CHECK(strstr(reference.repository, "..") == NULL);
    FUZZ_CHECK(strpbrk(reference.host, "/@%?# ") == NULL && reference.host[0] != '\0');
    FUZZ_CHECK(strpbrk(reference.tag, "/@:%?# ") == NULL && reference.tag[0] != '.');
    FUZZ_CHECK(reference.tag[0] != '\0' || reference.digest.text[0] != '\0');
    char whole[REFERENCE_TEXT_MAX], second[REFERENCE_TEXT_MAX];
    reference_format(&reference, whole);
    FUZZ_CHECK(reference_parse(whole, &again, NULL) == 0);
    reference_format(&again, second);
    FUZZ_CHECK(strcmp(whole, second) == 0);
    (void)reference_host_is_loopback(text);
    return 0;
}
