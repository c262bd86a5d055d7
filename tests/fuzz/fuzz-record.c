/*
 * image.json. What is accepted keeps the rules for links and variables, and comes back the same when
 * it is written and read again.
 */
#include "images/store/image_record.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No way out of $HOME or the image, and no name that could not be one. */
static void check_link(const struct home_link *link)
{
    FUZZ_CHECK(link->path[0] != '/' && link->path[0] != '\0' && link->target[0] == '/');
    const char *const paths[] = {link->path, link->target + 1};
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        for (const char *part = paths[i];; part++) {
            size_t length = strcspn(part, "/");
            FUZZ_CHECK(length > 0 && strncmp(part, "..", length > 1 ? length : 2) != 0);
            FUZZ_CHECK(length > 1 || part[0] != '.');
            part += length;
            if (*part == '\0')
                break;
        }
    }
}

static void check_image(const struct image *image)
{
    FUZZ_CHECK(image->source != NULL && image->created != NULL && image->summary != NULL);
    FUZZ_CHECK(image->size_bytes <= INT64_MAX && image->file_count <= INT64_MAX);
    for (size_t i = 0; i < image->home_link_count; i++)
        check_link(&image->home_links[i]);
    FUZZ_CHECK(image->environment != NULL);
    for (char **pair = image->environment; *pair != NULL; pair++)
        FUZZ_CHECK((*pair)[0] != '=' && strchr(*pair, '=') != NULL);
}

static void check_same(const struct image *one, const struct image *other)
{
    FUZZ_CHECK(strcmp(one->source, other->source) == 0);
    FUZZ_CHECK(strcmp(one->created, other->created) == 0);
    FUZZ_CHECK(strcmp(one->summary, other->summary) == 0);
    FUZZ_CHECK(one->size_bytes == other->size_bytes && one->file_count == other->file_count);
    FUZZ_CHECK(one->home_link_count == other->home_link_count);
    for (size_t i = 0; i < one->home_link_count; i++) {
        FUZZ_CHECK(strcmp(one->home_links[i].path, other->home_links[i].path) == 0);
        FUZZ_CHECK(strcmp(one->home_links[i].target, other->home_links[i].target) == 0);
    }
    size_t at = 0;
    for (; one->environment[at] != NULL && other->environment[at] != NULL; at++)
        FUZZ_CHECK(strcmp(one->environment[at], other->environment[at]) == 0);
    FUZZ_CHECK(one->environment[at] == NULL && other->environment[at] == NULL);
}

/* The directory that a record is written to; there is none in it before. */
static int written_directory(void)
{
    static int fd = -1;
    if (fd < 0) {
        FUZZ_CHECK(mkdirat(fuzz_directory(), "written", 0700) == 0);
        fd = openat(fuzz_directory(), "written", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    unlinkat(fd, RECORD_FILE, 0);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file_link(RECORD_FILE);
    fuzz_file(data, size);
    OWNED(image_release) struct image image = {0};
    struct fault fault = {0};
    int r = image_record_read(fuzz_directory(), &image, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0) {
        FUZZ_CHECK(r == -EINVAL);
        return 0;
    }
    check_image(&image);
    image.name = strdup("image");
    int directory_fd = written_directory();
    r = image_record_write(directory_fd, &image, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r == 0);
    OWNED(image_release) struct image again = {0};
    r = image_record_read(directory_fd, &again, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r == 0);
    check_same(&image, &again);
    return 0;
}
