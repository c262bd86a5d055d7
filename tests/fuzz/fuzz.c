#include "tests/fuzz/fuzz.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void fuzz_fail(const char *promise, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, promise);
    abort();
}

void fuzz_check_fault(int r, const struct fault *fault)
{
    size_t length = strnlen(fault->text, FAULT_TEXT_MAX);
    FUZZ_CHECK(length < FAULT_TEXT_MAX);
    FUZZ_CHECK(r == 0 || (r < 0 && r >= -4095)); /* as errors of system calls are */
    FUZZ_CHECK((r == 0) == (length == 0));
}

void fuzz_check_plain(const char *text, bool lines)
{
    size_t length = text != NULL ? strlen(text) : 0;
    for (size_t at = 0, step = 0; at < length; at += step) {
        bool valid = false;
        step = utf8_step(text + at, length - at, &valid);
        unsigned char first = (unsigned char)text[at], second = (unsigned char)text[at + 1];
        FUZZ_CHECK(valid || at + step == length);
        FUZZ_CHECK(first >= 0x20 || (lines && (first == '\n' || first == '\t')));
        FUZZ_CHECK(first != 0x7f && !(first == 0xc2 && second < 0xa0 && second != '\0'));
    }
}

uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->size == 0)
        return 0;
    input->size--;
    return *input->data++;
}

uint64_t fuzz_number(struct fuzz_input *input)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 8)
        number |= (uint64_t)fuzz_byte(input) << shift;
    return number;
}

static char *take_text(struct fuzz_input *input, size_t length)
{
    char *text = malloc(length + 1);
    FUZZ_CHECK(text != NULL);
    if (length > 0)
        memcpy(text, input->data, length);
    text[length] = '\0';
    input->data += length;
    input->size -= length;
    return text;
}

char *fuzz_line(struct fuzz_input *input)
{
    if (input->size == 0)
        return NULL;
    size_t length = 0;
    while (length < input->size && input->data[length] != '\n' && input->data[length] != '\0')
        length++;
    char *line = take_text(input, length);
    fuzz_byte(input);
    return line;
}

char *fuzz_rest(struct fuzz_input *input)
{
    size_t length = input->size > 0 ? strnlen((const char *)input->data, input->size) : 0;
    return take_text(input, length);
}

struct json *fuzz_parse(const struct buffer *text)
{
    struct json *json = NULL;
    struct fault fault = {0};
    int r = json_parse(text->data, text->length, &json, &fault);
    if (r < 0)
        fprintf(stderr, "%s\nin: %.*s\n", fault.text, (int)text->length, text->data);
    FUZZ_CHECK(r == 0);
    return json;
}

static bool same_text(const char *one, size_t one_length, const char *other, size_t other_length)
{
    return one_length == other_length && (one_length == 0 || memcmp(one, other, one_length) == 0);
}

bool fuzz_json_same(const struct json_value *one, const struct json_value *other)
{
    if (one->type != other->type || one->boolean != other->boolean || one->count != other->count ||
        !same_text(one->text, one->length, other->text, other->length) ||
        !same_text(one->key, one->key_length, other->key, other->key_length))
        return false;
    const struct json_value *left = one->first;
    const struct json_value *right = other->first;
    for (; left != NULL && right != NULL; left = left->next, right = right->next) {
        if (!fuzz_json_same(left, right)) /* as deep as JSON_DEPTH_MAX */
            return false;
    }
    return left == right;
}

int fuzz_file(const void *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(size == 0 || pwrite(fd, data, size, 0) == (ssize_t)size);
    FUZZ_CHECK(ftruncate(fd, (off_t)size) == 0); /* last, so that the pages stay */
    FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

const char *fuzz_file_path(void)
{
    static char path[64];
    if (path[0] == '\0')
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fuzz_file(NULL, 0));
    return path;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)walk;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

static void remove_directory(void)
{
    nftw(fuzz_directory_path(), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_directory_path(void)
{
    static char path[PATH_MAX];
    if (path[0] != '\0')
        return path;
    const char *elsewhere = getenv("TMPDIR");
    const char *above = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm"
                        : elsewhere != NULL                  ? elsewhere
                                                             : "/tmp";
    snprintf(path, sizeof(path), "%s/fuzz-XXXXXX", above);
    FUZZ_CHECK(mkdtemp(path) != NULL);
    atexit(remove_directory);
    return path;
}

int fuzz_directory(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = open(fuzz_directory_path(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    return fd;
}

void fuzz_file_link(const char *name)
{
    if (symlinkat(fuzz_file_path(), fuzz_directory(), name) < 0)
        FUZZ_CHECK(errno == EEXIST);
}
