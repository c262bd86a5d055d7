/*
 * lock.json: what is taken names an image by a digest, and what we write reads as the same; names and
 * versions of packages are words that no command takes for an option, and npm is told paths, versions
 * and digests, and no addresses. The answers of apt and pip, from which such locks are made, are any
 * text.
 */
#include "images/store/lock.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>

static void check_requests(const struct lock *lock, enum lock_kind kind)
{
    char **requests = lock_requests(lock, kind);
    FUZZ_CHECK(requests != NULL);
    for (char **request = requests; *request != NULL; request++)
        FUZZ_CHECK((*request)[0] != '-' && strpbrk(*request, "\n\t") == NULL);
    lock_requests_free(requests);
}

static bool has_text(const struct json_value *value, const char *start, const char *end)
{
    size_t length = value != NULL && value->type == JSON_STRING ? strlen(value->text) : 0;
    return length > 0 && length == value->length && length >= strlen(start) + strlen(end) &&
           strncmp(value->text, start, strlen(start)) == 0 &&
           strcmp(value->text + length - strlen(end), end) == 0;
}

static void check_npm(const char *npm)
{
    OWNED(json_release) struct json *parsed = NULL;
    FUZZ_CHECK(json_parse(npm, strlen(npm), &parsed, NULL) == 0);
    const struct json_value *packages = json_root(parsed);
    for (const struct json_value *at = packages->first; at != NULL; at = at->next) {
        FUZZ_CHECK(strncmp(at->key, "node_modules/", 13) == 0 && at->key_length == strlen(at->key));
        FUZZ_CHECK(strpbrk(at->key, " \\:#?%\n") == NULL && strstr(at->key, "/.") == NULL &&
                   strstr(at->key, "//") == NULL);
        const struct json_value *version = json_member(at, "version");
        FUZZ_CHECK(has_text(version, "", "") && strpbrk(version->text, " :/@^~*<>=|") == NULL);
        FUZZ_CHECK(has_text(json_member(at, "integrity"), "sha512-", "==") &&
                   json_member(at, "integrity")->length == 95);
        const struct json_value *name = json_member(at, "name");
        FUZZ_CHECK(name == NULL ||
                   (has_text(name, "", "") && strpbrk(name->text, " \\:#?%+") == NULL));
        FUZZ_CHECK(at->count == (name != NULL ? 3 : 2));
    }
}

static void check_packages(const uint8_t *data, size_t size)
{
    OWNED(lock_release) struct lock lock = {0};
    OWNED(lock_release) struct lock answers = {0};
    struct fault fault = {0};
    int r = lock_read_packages((const char *)data, size, &lock, &fault);
    FUZZ_CHECK(r != 0 || lock.recipe != NULL);
    if (r == 0) {
        check_requests(&lock, LOCK_DEB);
        check_requests(&lock, LOCK_PIP);
        if (lock.npm != NULL)
            check_npm(lock.npm);
        FUZZ_CHECK(lock_compare(&lock, &lock, NULL) == 0 || lock.count > 1);
    }
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *text = fuzz_rest(&input);
    FUZZ_CHECK(lock_add_uris(&answers, text, &fault) <= 0);
    FUZZ_CHECK(lock_add_requirements(&answers, text, &fault) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_packages(data, size);
    struct reference reference = {0}, again = {0};
    struct fault fault = {0};
    int r = lock_read((const char *)data, size, &reference, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0)
        return 0;
    FUZZ_CHECK(reference.digest.text[0] != '\0' && reference.host[0] != '\0');
    char text[REFERENCE_TEXT_MAX];
    reference_format(&reference, text);
    OWNED(lock_release) struct lock lock = {0};
    const struct descriptor descriptor = {reference.digest, 7};
    FUZZ_CHECK(lock_add(&lock, LOCK_MANIFEST, "https://x", &descriptor, NULL) == 0);
    FUZZ_CHECK(lock_write(fuzz_directory(), &lock, text, NULL) == 0);
    char written[4096];
    OWNED_FD int fd = openat(fuzz_directory(), LOCK_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, written, sizeof(written));
    FUZZ_CHECK(length > 0 && unlinkat(fuzz_directory(), LOCK_FILE, 0) == 0);
    FUZZ_CHECK(lock_read(written, (size_t)length, &again, NULL) == 0);
    FUZZ_CHECK(digest_equal(&reference.digest, &again.digest));
    return 0;
}
