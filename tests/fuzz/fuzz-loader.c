/* Programs of an image, as far as their dynamic loader is read from them: an absolute path, or none. */
#include "sandbox/base/owned.h"
#include "sandbox/roots/relocation.h"
#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char loader[PATH_MAX];
    OWNED_FD int fd = memfd_create("program", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    memset(loader, 'x', sizeof(loader));
    int r = relocation_read_loader(fd, loader, sizeof(loader));
    if (r < 0)
        return 0;
    size_t length = strnlen(loader, sizeof(loader));
    FUZZ_CHECK(length < sizeof(loader) && (length == 0 || loader[0] == '/'));
    FUZZ_CHECK(length < size);
    return 0;
}
