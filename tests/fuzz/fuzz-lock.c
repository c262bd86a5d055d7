/*
 * lock.json: what is taken names an image by a digest, and what we write reads as the same.
 */
#include "images/lock.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
