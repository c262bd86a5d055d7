/*
 * Any bytes as a compiled program that was kept: what is read lies in them, its names are those of files in the work directory,
 * and its numbers have their bounds.
 */
#include "interpreter/compiled.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_inputs.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check_text(const struct capture *capture)
{
    FUZZ_CHECK(capture->head.length <= COMPILE_TEXT_MAX && capture->tail.length == 0);
    FUZZ_CHECK(capture->total == capture->head.length + capture->cut);
}

static bool is_in(const struct buffer *bytes, const char *at, size_t length)
{
    return at >= bytes->data && length <= bytes->length &&
           at - bytes->data <= (ptrdiff_t)(bytes->length - length);
}

static uint64_t check_files(const struct compiled *compiled)
{
    struct fault fault = {0};
    uint64_t all = 0;
    FUZZ_CHECK(compiled->file_count <= COMPILED_FILES_MAX);
    for (size_t i = 0; i < compiled->file_count; i++) {
        const struct run_input *file = &compiled->files[i];
        FUZZ_CHECK(is_in(&compiled->bytes, file->name, strlen(file->name) + 1));
        FUZZ_CHECK(is_in(&compiled->bytes, file->bytes, file->length));
        all += strlen(file->name) + 1 + file->length;
    }
    FUZZ_CHECK(run_inputs_check_names(compiled->files, compiled->file_count, NULL, &fault) == 0);
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(size);
    struct compiled *compiled = NULL;
    bytes.data = malloc(size > 0 ? size : 1); /* no byte more, for the sanitizer to see */
    FUZZ_CHECK(bytes.data != NULL);
    if (size > 0)
        memcpy(bytes.data, data, size);
    bytes.length = bytes.capacity = size;
    int r = compiled_read(&bytes, &compiled);
    FUZZ_CHECK(bytes.data == NULL);
    FUZZ_CHECK((r == 0 && compiled != NULL) || (r == -EBADMSG && compiled == NULL));
    if (r < 0)
        return 0;
    const struct run_compile *report = &compiled->report;
    check_text(&report->out);
    check_text(&report->err);
    FUZZ_CHECK(report->duration_ns >= 0 && !report->was_kept);
    FUZZ_CHECK(report->out.head.length + report->err.head.length + check_files(compiled) < size);
    compiled_drop(compiled);
    return 0;
}
