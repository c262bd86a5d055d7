/*
 * Files of logins, and what helpers print: a login that is taken is whole, and the name of a helper
 * is one that may be executed.
 */
#include "images/registry/auth_file.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_credentials(const struct credentials *credentials)
{
    FUZZ_CHECK(credentials->identity_token != NULL ||
               (credentials->user != NULL && credentials->password != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = {"python", "h.x/a/b:1"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct reference reference;
        OWNED(auth_file_release) struct auth auth = {.kind = AUTH_NONE};
        FUZZ_CHECK(reference_parse(texts[i], &reference, NULL) == 0);
        int r = auth_file_read((const char *)data, size, &reference, &auth);
        FUZZ_CHECK(r == 0 || r == -EINVAL);
        if (auth.kind == AUTH_LOGIN)
            check_credentials(&auth.credentials);
        if (auth.kind == AUTH_HELPER)
            FUZZ_CHECK(auth.helper[0] != '\0' && strpbrk(auth.helper, "/ \t\n;") == NULL);
    }
    OWNED(auth_file_release_credentials) struct credentials credentials = {0};
    if (auth_file_read_helper((const char *)data, size, &credentials) == 0)
        check_credentials(&credentials);
    return 0;
}
