#include "interpreter/files/file_uri.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/percent.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int file_uri_write(struct buffer *text, uint64_t call, const char *path)
{
    int r = buffer_format(text, FILE_URI_BEGIN "%" PRIu64 "/", call);
    return r < 0 ? r : percent_encode(text, path, strlen(path));
}

void file_uri_release(struct file_uri *uri)
{
    memory_release(&uri->path);
}

/* Digits only, without sign or white space. 0 or -EINVAL. */
static int read_number(const char *text, size_t length, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
            return -EINVAL;
    }
    *ret_number = number;
    return length > 0 ? 0 : -EINVAL;
}

static int read_query(const char *text, size_t length, uint64_t *ret_offset)
{
    static const char begin[] = "offset=";
    size_t skipped = strlen(begin);
    if (length < skipped || memcmp(text, begin, skipped) != 0)
        return -EINVAL;
    return read_number(text + skipped, length - skipped, ret_offset);
}

int file_uri_read(const char *text, size_t length, struct file_uri *ret_uri)
{
    size_t begin = strlen(FILE_URI_BEGIN);
    if (length > FILE_URI_MAX || length < begin || memcmp(text, FILE_URI_BEGIN, begin) != 0)
        return 1;
    const char *call = text + begin;
    const char *slash = memchr(call, '/', length - begin);
    struct file_uri uri = {0};
    if (slash == NULL || read_number(call, (size_t)(slash - call), &uri.call) < 0)
        return 1;
    const char *path = slash + 1;
    size_t path_length = (size_t)(text + length - path);
    const char *query = memchr(path, '?', path_length);
    if (query != NULL)
        path_length = (size_t)(query - path);
    OWNED(buffer_release) struct buffer decoded = BUFFER(FILE_URI_MAX);
    int r = percent_decode(&decoded, path, path_length);
    if (r == 0 && buffer_string(&decoded) == NULL)
        r = -ENOMEM;
    if (r == -ENOMEM)
        return r;
    /* No path contains a NUL. */
    if (r < 0 || decoded.length == 0 || memchr(decoded.data, '\0', decoded.length) != NULL)
        return 1;
    r = query != NULL ? read_query(query + 1, (size_t)(text + length - query - 1), &uri.offset) : 0;
    if (r < 0)
        return r;
    uri.path = pointer_take(&decoded.data);
    *ret_uri = uri;
    return 0;
}
