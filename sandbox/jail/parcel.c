#include "sandbox/jail/parcel.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/child/parcel_format.h"
#include "sandbox/limits/limits.h"

#include <string.h>

_Static_assert(INPUT_NAME_PARTS_MAX *(INPUT_NAME_PART_MAX + 1) <= PARCEL_NAME_SIZE_MAX,
               "the child has room for the longest name");

static size_t file_size(const struct run_input *file)
{
    return sizeof(struct parcel_file) + strlen(file->name) + 1 + file->length;
}

static char *put(char *at, const void *bytes, size_t length)
{
    if (length > 0)
        memcpy(at, bytes, length);
    return at + length;
}

static char *put_file(char *at, const struct run_input *file)
{
    const struct parcel_file record = {
        .length = file->length,
        .name_size = (uint32_t)strlen(file->name) + 1,
        .is_executable = file->is_executable,
    };
    at = put(at, &record, sizeof(record));
    at = put(at, file->name, record.name_size);
    return put(at, file->bytes, file->length);
}

size_t parcel_size(const struct run_spec *spec)
{
    size_t length = spec->code_length;
    for (size_t i = 0; i < spec->input_count; i++)
        length += file_size(&spec->inputs[i]);
    for (size_t i = 0; i < spec->program_count; i++)
        length += file_size(&spec->program[i]);
    return length;
}

int parcel_make(const struct run_spec *spec, struct parcel *ret_parcel)
{
    size_t length = parcel_size(spec);
    char *bytes = malloc(length + 1);
    if (bytes == NULL)
        return -ENOMEM;
    char *at = put(bytes, spec->code, spec->code_length);
    for (size_t i = 0; i < spec->input_count; i++)
        at = put_file(at, &spec->inputs[i]);
    for (size_t i = 0; i < spec->program_count; i++)
        at = put_file(at, &spec->program[i]);
    *ret_parcel = (struct parcel){
        .bytes = bytes,
        .length = length,
        .code_length = spec->code_length,
        .file_count = (uint32_t)(spec->input_count + spec->program_count),
    };
    return 0;
}

void parcel_release(struct parcel *parcel)
{
    memory_release(&parcel->bytes);
}

int parcel_read_file(int fd, off_t offset, char *ret_name, struct parcel_place *ret_place)
{
    struct parcel_file record;
    ssize_t length = pread(fd, &record, sizeof(record), offset);
    if (length < 0)
        return -errno;
    if (length != (ssize_t)sizeof(record) || record.name_size > PARCEL_NAME_SIZE_MAX)
        return -EIO;
    offset += length;
    length = pread(fd, ret_name, record.name_size, offset);
    if (length < 0)
        return -errno;
    if (length != (ssize_t)record.name_size || length == 0 || ret_name[length - 1] != '\0')
        return -EIO;
    ret_place->begin = offset + length;
    ret_place->end = ret_place->begin + (off_t)record.length;
    return 0;
}

const char *parcel_name(const struct parcel *parcel, size_t number)
{
    if (parcel->bytes == NULL || number >= parcel->file_count)
        return "";
    const char *at = parcel->bytes + parcel->code_length;
    for (;; number--) {
        struct parcel_file record;
        memcpy(&record, at, sizeof(record));
        at += sizeof(record);
        if (number == 0)
            return at;
        at += record.name_size + record.length;
    }
}
