#include "sandbox/run_inputs.h"

#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/child/parcel_format.h"
#include "sandbox/jail/parcel.h"
#include "sandbox/limits/limits.h"

#include <string.h>
#include <sys/stat.h>

#define READ_SIZE 65536

bool run_input_is_code(const char *name, const char *code_name)
{
    size_t length = strlen(code_name);
    return strncmp(name, code_name, length) == 0 && (name[length] == '\0' || name[length] == '/');
}

static int check_name(const char *name, struct fault *fault)
{
    size_t parts = 0;
    for (const char *part = name;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && strncmp(part, "..", 2) == 0))
            return fault_set(fault, EINVAL,
                             "the file name \"%s\" must be a relative path without empty, "
                             "\".\" or \"..\" parts, such as data/input.csv",
                             visible_name(name).text);
        if (length > INPUT_NAME_PART_MAX)
            return fault_set(fault, EINVAL,
                             "the file name \"%s\" has a part of %zu bytes: at most %d are "
                             "possible; shorten it",
                             visible_name(name).text, length, INPUT_NAME_PART_MAX);
        part += length;
        if (++parts > INPUT_NAME_PARTS_MAX)
            return fault_set(fault, EINVAL,
                             "the file name \"%s\" has more than %d parts: use fewer "
                             "directories",
                             visible_name(name).text, INPUT_NAME_PARTS_MAX);
        if (*part == '\0')
            return 0;
    }
}

/* Whether the file `parent` would have to be a directory. */
static bool leads_through(const char *name, const char *parent)
{
    size_t length = strlen(parent);
    return strncmp(name, parent, length) == 0 && name[length] == '/';
}

static int check_pair(const char *name, const char *other, struct fault *fault)
{
    if (strcmp(name, other) == 0)
        return fault_set(fault, EINVAL, "two files have the name \"%s\": give each its own name",
                         visible_name(name).text);
    bool is_inside = leads_through(name, other);
    if (is_inside || leads_through(other, name))
        return fault_set(fault, EINVAL,
                         "\"%s\" cannot be a file, because it is a directory of \"%s\": "
                         "rename one of them",
                         visible_name(is_inside ? other : name).text,
                         visible_name(is_inside ? name : other).text);
    return 0;
}

int run_inputs_check_count(size_t count, struct fault *fault)
{
    return count <= INPUT_FILES_MAX
               ? 0
               : fault_set(fault, E2BIG,
                           "%zu files are too many: at most %d are accepted; have the code write "
                           "the others",
                           count, INPUT_FILES_MAX);
}

int run_inputs_check_names(const struct run_input *files, size_t count, const char *code_name,
                           struct fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        int r = check_name(files[i].name, fault);
        if (r == 0 && code_name != NULL && run_input_is_code(files[i].name, code_name))
            r = fault_set(fault, EINVAL,
                          "the file name \"%s\" is taken by the program itself: choose "
                          "another one",
                          visible_name(files[i].name).text);
        for (size_t k = 0; r == 0 && k < i; k++)
            r = check_pair(files[i].name, files[k].name, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

int run_inputs_check(const struct run_input *files, size_t count, const char *code_name,
                     struct fault *fault)
{
    int r = run_inputs_check_count(count, fault);
    if (r == 0)
        r = run_inputs_check_names(files, count, code_name, fault);
    if (r < 0)
        return r;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += files[i].length;
    if (bytes > INPUT_BYTES_MAX)
        return fault_set(fault, E2BIG,
                         "the files have %llu bytes together: at most %llu MiB are accepted; "
                         "shorten them",
                         (unsigned long long)bytes,
                         (unsigned long long)(INPUT_BYTES_MAX / MEBIBYTE));
    return 0;
}

int run_inputs_check_sizes(const struct run_spec *spec, struct fault *fault)
{
    if (spec->code_length > CODE_MAX)
        return fault_set(fault, E2BIG, "the code has %zu bytes; the maximum is %zu",
                         spec->code_length, (size_t)CODE_MAX);
    if (spec->stdin_source.length > STDIN_MAX)
        return fault_set(fault, E2BIG, "stdin has %zu bytes; the maximum is %zu",
                         spec->stdin_source.length, (size_t)STDIN_MAX);
    return run_inputs_check(spec->inputs, spec->input_count, spec->code_name, fault);
}

/* 0, or -1 if there is no such file. */
static int find(const struct run_inputs *inputs, const char *path, struct parcel_place *ret_place)
{
    static char
        name[PARCEL_NAME_SIZE_MAX]; /* not on the stack, whose pages each clone has to copy */
    off_t offset = (off_t)inputs->code_length;
    for (uint32_t i = 0; i < inputs->count; i++) {
        if (parcel_read_file(inputs->fd, offset, name, ret_place) < 0)
            return -1;
        if (strcmp(name, path) == 0)
            return 0;
        offset = ret_place->end;
    }
    return -1;
}

bool run_inputs_is_unchanged(const struct run_inputs *inputs, const char *path, int fd)
{
    static char bytes[READ_SIZE], original[READ_SIZE];
    struct parcel_place place;
    struct stat about;
    if (inputs->fd < 0 || find(inputs, path, &place) < 0 || fstat(fd, &about) < 0 ||
        about.st_size != place.end - place.begin)
        return false;
    for (off_t at = 0; at < about.st_size;) {
        size_t left = (size_t)(about.st_size - at);
        size_t length = left < READ_SIZE ? left : READ_SIZE;
        if (io_read_at(fd, bytes, length, (uint64_t)at) < 0 ||
            io_read_at(inputs->fd, original, length, (uint64_t)(place.begin + at)) < 0 ||
            memcmp(bytes, original, length) != 0)
            return false;
        at += (off_t)length;
    }
    return true;
}
