/*
 * The texts that tell where a process is among the cgroups. Three of them, with a NUL behind each:
 * /proc/self/cgroup; /proc/self/mountinfo; and a mount point, which has to be found again in a line
 * of mountinfo as the kernel writes it. Then the whole as a file of a cgroup.
 */
#include "sandbox/base/owned.h"
#include "sandbox/limits/cgroup_file.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX (1 << 20)

static char *take_text(struct fuzz_input *input)
{
    char *text = fuzz_rest(input);
    fuzz_byte(input);
    return text;
}

static void check_own_path(const char *cgroups, const char *path)
{
    OWNED(buffer_release) struct buffer line = BUFFER(TEXT_MAX);
    FUZZ_CHECK(path[0] == '/' && strchr(path, '\n') == NULL);
    FUZZ_CHECK(buffer_format(&line, "0::%s", path) == 0);
    FUZZ_CHECK(strstr(cgroups, buffer_string(&line)) != NULL);
}

static void check_directory(const char *mounts, const char *path)
{
    OWNED_MEMORY char *point = NULL;
    OWNED_MEMORY char *directory = cgroup_directory(mounts, path, &point);
    FUZZ_CHECK((directory != NULL) == (point != NULL));
    if (directory == NULL)
        return;
    FUZZ_CHECK(strncmp(directory, point, strlen(point)) == 0);
    const char *below = directory + strlen(point);
    FUZZ_CHECK(below[0] == '/' || below[0] == '\0');
    FUZZ_CHECK(strstr(below, "/..") == NULL);
    size_t length = strlen(path);
    FUZZ_CHECK(strlen(below) <= length && strcmp(path + length - strlen(below), below) == 0);
}

/* As the kernel does: show_mountinfo() escapes these four. */
static void escape(const char *text, struct buffer *escaped)
{
    for (; *text != '\0'; text++) {
        bool is_plain = strchr(" \t\n\\", *text) == NULL;
        int r = is_plain ? buffer_append(escaped, text, 1)
                         : buffer_format(escaped, "\\%03o", (unsigned)*text);
        FUZZ_CHECK(r == 0);
    }
}

static void check_mount_point(const char *name)
{
    OWNED(buffer_release) struct buffer text = BUFFER(TEXT_MAX);
    OWNED(buffer_release) struct buffer expected = BUFFER(TEXT_MAX);
    FUZZ_CHECK(buffer_append_text(&text, "22 1 0:5 / /proc rw - proc proc rw\n30 22 0:26 / /") ==
               0);
    escape(name, &text);
    FUZZ_CHECK(buffer_append_text(&text, " rw,nosuid shared:9 - cgroup2 cgroup2 rw\n") == 0);
    FUZZ_CHECK(buffer_format(&expected, "/%s/one/two", name) == 0);
    OWNED_MEMORY char *point = NULL;
    OWNED_MEMORY char *directory = cgroup_directory(buffer_string(&text), "/one/two", &point);
    FUZZ_CHECK(directory != NULL && strcmp(directory, buffer_string(&expected)) == 0);
}

static void check_file(const uint8_t *data, size_t size)
{
    fuzz_file_link("file");
    fuzz_file(data, size);
    uint64_t number = 0;
    int r = cgroup_read_number(fuzz_directory(), "file", &number);
    FUZZ_CHECK(r == 0 || r == -EPROTO);
    r = cgroup_read_key(fuzz_directory(), "file", "oom_kill", &number);
    FUZZ_CHECK(r == 0 || r == -EPROTO || r == -ENOENT);
    unsigned controllers = cgroup_read_controllers(fuzz_directory(), "file");
    FUZZ_CHECK((controllers & ~(unsigned)CONTROLLERS_ALL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *cgroups = take_text(&input);
    OWNED_MEMORY char *mounts = take_text(&input);
    OWNED_MEMORY char *name = take_text(&input);
    OWNED_MEMORY char *path = cgroup_own_path(cgroups);
    if (path != NULL)
        check_own_path(cgroups, path);
    check_directory(mounts, path != NULL ? path : "/");
    check_mount_point(name);
    check_file(data, size);
    return 0;
}
