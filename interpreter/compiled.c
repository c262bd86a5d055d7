#include "interpreter/compiled.h"

#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Before all else; then the texts, then each file: its record, its name with a NUL, its bytes. */
struct head {
    char magic[16];
    uint64_t out_length, err_length;
    uint64_t out_total, err_total;
    int64_t duration_ns;
    uint64_t file_count;
};

struct compiled_file {
    uint64_t length;
    uint32_t name_size;
    uint32_t is_executable;
};

static const char magic[16] = "compiled-1";

struct compiled *compiled_use(struct compiled *compiled)
{
    compiled->users++;
    return compiled;
}

void compiled_drop(struct compiled *compiled)
{
    if (compiled == NULL || --compiled->users > 0)
        return;
    buffer_release(&compiled->bytes);
    run_compile_release(&compiled->report);
    free(compiled->files);
    free(compiled);
}

static void drop(struct compiled **compiled)
{
    compiled_drop(*compiled);
}

static int append_file(const struct run_file *file, struct buffer *bytes)
{
    struct stat about;
    if (fstat(file->fd, &about) < 0)
        return -errno;
    const struct compiled_file record = {
        .length = file->size,
        .name_size = (uint32_t)strlen(file->path) + 1,
        .is_executable = (about.st_mode & 0100) != 0,
    };
    int r = buffer_append(bytes, (const char *)&record, sizeof(record));
    if (r == 0)
        r = buffer_append(bytes, file->path, record.name_size);
    return r < 0 ? r : io_append(file->fd, file->size, bytes);
}

static int append_all(const struct run_result *result, struct buffer *bytes)
{
    struct head head = {
        .out_length = result->out.head.length,
        .err_length = result->err.head.length,
        .out_total = result->out.total,
        .err_total = result->err.total,
        .duration_ns = result->duration_ns,
        .file_count = result->files.count,
    };
    memcpy(head.magic, magic, sizeof(magic));
    if (head.out_length > COMPILE_TEXT_MAX)
        head.out_length = COMPILE_TEXT_MAX;
    if (head.err_length > COMPILE_TEXT_MAX)
        head.err_length = COMPILE_TEXT_MAX;
    int r = buffer_append(bytes, (const char *)&head, sizeof(head));
    if (r == 0)
        r = buffer_append(bytes, result->out.head.data, head.out_length);
    if (r == 0)
        r = buffer_append(bytes, result->err.head.data, head.err_length);
    for (size_t i = 0; r == 0 && i < result->files.count; i++)
        r = append_file(&result->files.list[i], bytes);
    return r;
}

int compiled_make(const struct run_result *result, struct compiled **ret_compiled,
                  struct fault *fault)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(COMPILED_BYTES_MAX);
    if (result->files_lost)
        return fault_set(fault, ENFILE, "the files of the compiler could not be collected");
    if (result->files.more > 0 || result->files.more_at_least)
        return fault_set(fault, E2BIG,
                         "the compiler left more than %d files or directories, which are too many",
                         COMPILED_FILES_MAX);
    int r = append_all(result, &bytes);
    if (r == -ENOBUFS)
        return fault_set(fault, E2BIG,
                         "the compiler left files of more than %llu MiB, which are too large",
                         (unsigned long long)(COMPILED_BYTES_MAX / MEBIBYTE));
    if (r == 0)
        r = compiled_read(&bytes, ret_compiled);
    return r < 0 ? fault_set(fault, -r, "reading the files of the compiler: %m") : 0;
}

/* What is left of the bytes. */
struct rest {
    const char *at;
    size_t length;
};

/* The next ones, or NULL: there are fewer. */
static const char *take(struct rest *rest, uint64_t length)
{
    const char *at = rest->at;
    if (length > rest->length)
        return NULL;
    rest->at += length;
    rest->length -= length;
    return at;
}

static int take_text(struct rest *rest, uint64_t length, uint64_t total, struct capture *capture)
{
    const char *text = take(rest, length);
    if (text == NULL || length > COMPILE_TEXT_MAX || total < length)
        return -EBADMSG;
    capture->head = BUFFER(COMPILE_TEXT_MAX);
    capture->total = total;
    capture->cut = total - length;
    return buffer_append(&capture->head, text, length);
}

static int take_file(struct rest *rest, struct run_input *file)
{
    struct compiled_file record;
    const char *at = take(rest, sizeof(record));
    if (at == NULL)
        return -EBADMSG;
    memcpy(&record, at, sizeof(record));
    const char *name = take(rest, record.name_size);
    if (name == NULL || record.name_size == 0 ||
        strnlen(name, record.name_size) + 1 != record.name_size)
        return -EBADMSG;
    const char *bytes = take(rest, record.length);
    if (bytes == NULL)
        return -EBADMSG;
    *file = (struct run_input){name, bytes, record.length, record.is_executable != 0};
    return 0;
}

static int read_all(struct compiled *compiled)
{
    struct rest rest = {compiled->bytes.data, compiled->bytes.length};
    struct head head;
    const char *at = take(&rest, sizeof(head));
    if (at == NULL)
        return -EBADMSG;
    memcpy(&head, at, sizeof(head));
    if (memcmp(head.magic, magic, sizeof(magic)) != 0 || head.file_count > COMPILED_FILES_MAX ||
        head.duration_ns < 0)
        return -EBADMSG;
    compiled->report.duration_ns = head.duration_ns;
    int r = take_text(&rest, head.out_length, head.out_total, &compiled->report.out);
    if (r == 0)
        r = take_text(&rest, head.err_length, head.err_total, &compiled->report.err);
    if (r < 0)
        return r;
    compiled->files = calloc(head.file_count + 1, sizeof(*compiled->files));
    if (compiled->files == NULL)
        return -ENOMEM;
    for (; r == 0 && compiled->file_count < head.file_count; compiled->file_count++)
        r = take_file(&rest, &compiled->files[compiled->file_count]);
    if (r == 0 && rest.length > 0)
        r = -EBADMSG;
    struct fault fault = {0};
    if (r == 0 && run_inputs_check_names(compiled->files, compiled->file_count, NULL, &fault) < 0)
        r = -EBADMSG;
    return r;
}

int compiled_read(struct buffer *bytes, struct compiled **ret_compiled)
{
    OWNED(drop) struct compiled *compiled = calloc(1, sizeof(*compiled));
    if (compiled == NULL)
        return -ENOMEM;
    compiled->users = 1;
    compiled->bytes = *bytes;
    *bytes = BUFFER(0);
    int r = read_all(compiled);
    if (r == 0)
        *ret_compiled = pointer_take(&compiled);
    return r;
}
