/*
 * The /etc/passwd of an image from somewhere, to which the account of snippets is added. All that was
 * there stays, the account is there in the end, and doing it again changes nothing.
 */
#include "images/base/file.h"
#include "images/build/system.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree-check.h"

#include <string.h>
#include <sys/stat.h>

#define PASSWD "etc/passwd"
#define LINE ACCOUNT_NAME ":x:" ACCOUNT_ID ":" ACCOUNT_ID "::" ACCOUNT_HOME ":/bin/bash\n"

static void provide(struct buffer *ret_text)
{
    struct fault fault = {0};
    int r = system_provide_account(&fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r == 0 && file_read(PASSWD, ret_text, &fault) == 0);
}

/* Whether some line has the id of the account in its third field. */
static bool has_account(const char *text)
{
    OWNED_MEMORY char *copy = strdup(text);
    FUZZ_CHECK(copy != NULL);
    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *name = strsep(&line, ":");
        const char *password = strsep(&line, ":");
        const char *id = strsep(&line, ":");
        if (name != NULL && password != NULL && id != NULL && line != NULL &&
            strcmp(id, ACCOUNT_ID) == 0)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *before = fuzz_rest(&input);
    size_t length = strlen(before);
    struct fault fault = {0};
    tree_check_begin();
    FUZZ_CHECK(mkdir("etc", 0755) == 0 && file_write(PASSWD, before, length, &fault) == 0);

    OWNED(buffer_release) struct buffer once = BUFFER(FILE_TEXT_MAX);
    provide(&once);
    FUZZ_CHECK(once.length >= length && memcmp(once.data, before, length) == 0);
    const char *added = buffer_string(&once) + length;
    added += length > 0 && before[length - 1] != '\n' && *added == '\n';
    FUZZ_CHECK(strcmp(added, has_account(before) ? "" : LINE) == 0);
    FUZZ_CHECK(has_account(once.data));

    OWNED(buffer_release) struct buffer twice = BUFFER(FILE_TEXT_MAX);
    provide(&twice);
    FUZZ_CHECK(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    tree_check_end();
    return 0;
}
