#include "cli/given_files.h"

#include "interpreter/settings/home_path.h"
#include "interpreter/settings/own_paths.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTION "--file"

int given_files_add(void *data, const struct option *option, const char *value, struct fault *fault)
{
    struct given_files *files = (struct given_files *)((char *)data + option->offset);
    const char *equals = strchr(value, '=');
    if (equals == value || value[0] == '\0' || (equals != NULL && equals[1] == '\0'))
        return fault_set(fault, EINVAL, "%s needs FILE or NAME=FILE, not \"%.80s\"", option->name,
                         value);
    if (files->count == INPUT_FILES_MAX)
        return fault_set(fault, E2BIG,
                         "%s: at most %d files are possible; --workdir or --mount shows a folder",
                         option->name, INPUT_FILES_MAX);
    files->said[files->count++] = value;
    return 0;
}

static int refuse_kind(const char *path, mode_t mode, struct fault *fault)
{
    if (S_ISDIR(mode))
        return fault_set(fault, EISDIR,
                         "%s is a folder, and " OPTION " takes files: show it with --workdir or "
                         "--mount",
                         visible_name(path).text);
    return fault_set(fault, EINVAL,
                     "%s is no regular file: copy what it gives to a file, or pass it as stdin",
                     visible_name(path).text);
}

static int refuse_size(const char *path, struct fault *fault)
{
    return fault_set(fault, E2BIG,
                     "%s is too large: the files of " OPTION
                     " have at most %llu MiB together; show "
                     "its folder with --workdir or --mount",
                     visible_name(path).text, (unsigned long long)(INPUT_BYTES_MAX / MEBIBYTE));
}

/* Reads the open file, of that size. It may have changed meanwhile: what is there counts, up to the size. */
static int read_bytes(int fd, const char *path, char *bytes, size_t size, size_t *ret_length,
                      struct fault *fault)
{
    size_t length = 0;
    while (length < size) {
        ssize_t count = read(fd, bytes + length, size - length);
        if (count == 0)
            break;
        if (count < 0 && errno != EINTR)
            return fault_set(fault, errno, "reading %s: %m", visible_name(path).text);
        length += count > 0 ? (size_t)count : 0;
    }
    *ret_length = length;
    return 0;
}

static int refuse_open(const char *path, bool has_name, struct fault *fault)
{
    bool is_split = errno == ENOENT && has_name;
    return fault_set(fault, errno, "cannot open %s: %m%s", visible_name(path).text,
                     is_split ? " (what is before the first = is the name of the copy)" : "");
}

/* Of the file with that number, whose bytes may be `left`. */
static int read_file(struct given_files *files, size_t number, const char *path, uint64_t left,
                     struct fault *fault)
{
    /* Without waiting for the other end of a FIFO. */
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct run_input *input = &files->inputs[number];
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0)
        return refuse_open(path, strchr(files->said[number], '=') != NULL, fault);
    int r = own_paths_check_opened(files->settings, path, fd, fault);
    if (r < 0)
        return r;
    if (!S_ISREG(about.st_mode))
        return refuse_kind(path, about.st_mode, fault);
    if ((uint64_t)about.st_size > left)
        return refuse_size(path, fault);
    size_t size = (size_t)about.st_size;
    files->bytes[number] = malloc(size + 1);
    if (files->bytes[number] == NULL)
        return fault_set(fault, ENOMEM, "no memory for %s", visible_name(path).text);
    input->bytes = files->bytes[number];
    return read_bytes(fd, path, files->bytes[number], size, &input->length, fault);
}

static int check_name(const struct given_files *files, size_t count, struct fault *fault)
{
    const char *name = files->names[count];
    for (size_t i = 0; i < count; i++)
        if (strcmp(files->names[i], name) == 0)
            return fault_set(fault, EINVAL,
                             "two files would have the name %s: give one of them another one with "
                             "NAME=FILE",
                             visible_name(name).text);
    return 0;
}

static int read_all(struct given_files *files, struct fault *fault)
{
    uint64_t left = INPUT_BYTES_MAX;
    for (size_t i = 0; i < files->count; i++) {
        const char *said = files->said[i];
        const char *equals = strchr(said, '=');
        OWNED_MEMORY char *path = NULL;
        int r = home_path_expand(OPTION, equals != NULL ? equals + 1 : said, &path, fault);
        if (r < 0 || path == NULL)
            return r;
        const char *slash = strrchr(path, '/');
        const char *base = slash != NULL ? slash + 1 : path;
        files->names[i] = equals != NULL ? strndup(said, (size_t)(equals - said)) : strdup(base);
        if (files->names[i] == NULL)
            return fault_set(fault, ENOMEM, "no memory for %s", visible_name(path).text);
        files->inputs[i].name = files->names[i];
        r = check_name(files, i, fault);
        if (r == 0)
            r = own_paths_check_given(files->settings, path, fault);
        if (r == 0)
            r = read_file(files, i, path, left, fault);
        if (r < 0)
            return r;
        left -= files->inputs[i].length;
    }
    return 0;
}

int given_files_read(struct given_files *files, const struct settings *settings,
                     const char *code_name, struct fault *fault)
{
    files->settings = settings;
    int r = read_all(files, fault);
    if (r == 0)
        r = run_inputs_check(files->inputs, files->count, code_name, fault);
    if (r < 0)
        fault_prefix(fault, OPTION);
    return r;
}

void given_files_release(struct given_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->names[i]);
        free(files->bytes[i]);
    }
    *files = (struct given_files){0};
}
