/*
 * Any bytes as the URI of a file, and any path in one: each path comes back; and what is read of a URI,
 * written again, is read as the same.
 */
#include "interpreter/files/file_uri.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

static void check_path(uint64_t call, const char *path)
{
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_URI_MAX);
    OWNED(file_uri_release) struct file_uri uri = {0};
    int r = file_uri_write(&text, call, path);
    if (r == -ENOBUFS) {
        FUZZ_CHECK(strlen(path) * 3 + 64 > FILE_URI_MAX);
        return;
    }
    FUZZ_CHECK(r == 0);
    for (size_t i = 0; i < text.length; i++)
        FUZZ_CHECK(text.data[i] > ' ' && text.data[i] < 0x7f && text.data[i] != '?');
    r = file_uri_read(text.data, text.length, &uri);
    FUZZ_CHECK(r == (path[0] != '\0' ? 0 : 1));
    if (r == 0)
        FUZZ_CHECK(uri.call == call && uri.offset == 0 && strcmp(uri.path, path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED(file_uri_release) struct file_uri uri = {0};
    int r = file_uri_read((const char *)data, size, &uri);
    FUZZ_CHECK(r == 0 || r == 1 || r == -EINVAL);
    FUZZ_CHECK((r == 0) == (uri.path != NULL));
    if (r == 0) {
        FUZZ_CHECK(uri.path[0] != '\0' && strlen(uri.path) < size);
        check_path(uri.call, uri.path);
    }
    uint64_t call = fuzz_number(&input);
    OWNED_MEMORY char *path = fuzz_rest(&input);
    check_path(call, path);
    return 0;
}
