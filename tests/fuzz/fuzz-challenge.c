/*
 * WWW-Authenticate headers: any text; and one that quotes any text, which comes out as it went in,
 * whatever challenges stand beside it.
 */
#include "images/registry/challenge.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void append_quoted(struct buffer *value, const char *text)
{
    FUZZ_CHECK(buffer_append_text(value, "\"") == 0);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            FUZZ_CHECK(buffer_append_text(value, "\\") == 0);
        FUZZ_CHECK(buffer_append(value, text, 1) == 0);
    }
    FUZZ_CHECK(buffer_append_text(value, "\"") == 0);
}

static bool is_quotable(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7f)
            return false;
    return length < CHALLENGE_TEXT_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *text = fuzz_rest(&input);
    struct challenge challenge;
    int r = challenge_parse(text, &challenge);
    FUZZ_CHECK(r == 0 || r == -EINVAL);
    if (!is_quotable(text))
        return 0;
    OWNED(buffer_release) struct buffer value = BUFFER(1 << 20);
    FUZZ_CHECK(buffer_append_text(&value, "Basic realm=\"b\", Bearer x=y,Realm = ") == 0);
    append_quoted(&value, text);
    FUZZ_CHECK(buffer_append_text(&value, " ,service=s, Negotiate") == 0);
    FUZZ_CHECK(challenge_parse(buffer_string(&value), &challenge) == 0);
    FUZZ_CHECK(challenge.scheme == CHALLENGE_BEARER);
    FUZZ_CHECK(strcmp(challenge.realm, text) == 0 && strcmp(challenge.service, "s") == 0);
    return 0;
}
