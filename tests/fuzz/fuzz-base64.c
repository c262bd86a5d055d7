/*
 * Base64, both ways: text is accepted exactly when it is what the encoder writes for some bytes, and
 * any bytes come back from their text.
 */
#include "interpreter/base/bounds.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

static void check_bytes(const char *bytes, size_t length)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_IN_MAX);
    OWNED(buffer_release) struct buffer back = BUFFER(LINE_IN_MAX);
    size_t wrong = 0;
    FUZZ_CHECK(base64_append(&text, bytes, length) == 0);
    FUZZ_CHECK(base64_decode(&back, text.data, text.length, &wrong) == 0);
    FUZZ_CHECK(back.length == length && (length == 0 || memcmp(back.data, bytes, length) == 0));
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* By the grammar of RFC 4648, without decoding anything. */
static bool is_base64(const char *text, size_t length)
{
    if (length % 4 != 0)
        return false;
    size_t letters = 0;
    while (letters < length && text[letters] != '\0' && strchr(alphabet, text[letters]) != NULL)
        letters++;
    size_t padding = length - letters;
    if (padding > 2 || (padding > 0 && text[length - 1] != '=') ||
        (padding > 1 && text[length - 2] != '='))
        return false;
    if (padding == 0)
        return true;
    size_t last = (size_t)(strchr(alphabet, text[letters - 1]) - alphabet);
    return last % (padding == 1 ? 4 : 16) == 0;
}

/* What is accepted, the encoder would have written; what is not, it cannot be made to write. */
static void check_text(const char *text, size_t length)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(LINE_IN_MAX);
    OWNED(buffer_release) struct buffer again = BUFFER(LINE_IN_MAX);
    FUZZ_CHECK(buffer_append(&bytes, "before", 6) == 0);
    size_t wrong = SIZE_MAX;
    int r = base64_decode(&bytes, text, length, &wrong);
    FUZZ_CHECK(memcmp(bytes.data, "before", 6) == 0);
    if (r == 0) {
        FUZZ_CHECK(base64_append(&again, bytes.data + 6, bytes.length - 6) == 0);
        FUZZ_CHECK(again.length == length &&
                   (length == 0 || memcmp(again.data, text, length) == 0));
        return;
    }
    FUZZ_CHECK(r == -EINVAL && wrong <= length && bytes.length == 6);
    FUZZ_CHECK(!is_base64(text, length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_bytes((const char *)data, size);
    check_text((const char *)data, size);
    return 0;
}
