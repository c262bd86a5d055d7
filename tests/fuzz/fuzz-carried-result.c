/*
 * What a worker says of a run, as any JSON: what is read can be written and read again, and is the same; paths of
 * files lead nowhere else, and sizes are those of the files.
 */
#include "interpreter/base/bounds.h"
#include "interpreter/folders/carried_changes.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/workers/carried_result.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/stat.h>

static void check_files(const struct run_files *files, size_t most)
{
    FUZZ_CHECK(files->count <= most);
    for (size_t i = 0; i < files->count; i++) {
        const struct run_file *file = &files->list[i];
        struct stat about;
        FUZZ_CHECK(fstat(file->fd, &about) == 0 && S_ISREG(about.st_mode));
        FUZZ_CHECK((uint64_t)about.st_size == file->size);
        FUZZ_CHECK(file->path[0] != '/' && strlen(file->path) < RUN_FILE_PATH_SIZE);
        FUZZ_CHECK(strcmp(file->path, "..") != 0 && strncmp(file->path, "../", 3) != 0);
        FUZZ_CHECK(strstr(file->path, "/../") == NULL && strstr(file->path, "//") == NULL);
    }
}

static void check_capture(const struct capture *capture)
{
    FUZZ_CHECK(capture->head.length + capture->tail.length + capture->cut == capture->total);
}

static void check_patches(const struct folder_patches *patches)
{
    FUZZ_CHECK(patches->count <= FOLDERS_MAX);
    for (size_t i = 0; i < patches->count; i++) {
        const struct folder_patch *patch = &patches->list[i];
        struct stat about;
        FUZZ_CHECK(patch->folder[0] == '/');
        if (patch->failure != NULL)
            fuzz_check_plain(patch->failure, false);
        FUZZ_CHECK((patch->changes.patch_fd >= 0) == (patch->changes.patch_bytes > 0));
        if (patch->changes.patch_fd >= 0)
            FUZZ_CHECK(fstat(patch->changes.patch_fd, &about) == 0 &&
                       (uint64_t)about.st_size == patch->changes.patch_bytes);
    }
}

/* With what those who tell of folders and rules make of it. */
static void write_result(const struct run_result *result, size_t room, struct buffer *text)
{
    OWNED(folder_patches_release)
    struct folder_patches patches = {.lost = result->folders.lost};
    struct findings *findings = calloc(1, sizeof(*findings));
    struct carried_result carried = {.result = result, .patches = &patches, .wants_files = true};
    struct json_writer *writer = NULL;
    if (result->told_changes.length > 0)
        carried_changes_read(&result->told_changes, &patches);
    check_patches(&patches);
    patches.lost = patches.lost <= FOLDERS_MAX ? patches.lost : FOLDERS_MAX;
    if (result->told_findings.length > 0 &&
        findings_text_read_carried(&result->told_findings, findings, &carried.check_ns) == 0)
        carried.findings = findings;
    FUZZ_CHECK(json_writer_open(text, &writer) == 0);
    carried_result_write(writer, &carried, room);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    findings_release(findings);
    free(findings);
}

static void check_same(const struct run_result *result)
{
    OWNED(buffer_release) struct buffer first = BUFFER(LINE_IN_MAX);
    OWNED(buffer_release) struct buffer second = BUFFER(LINE_IN_MAX);
    OWNED(buffer_release) struct buffer without_files = BUFFER(LINE_IN_MAX);
    OWNED(run_result_release) struct run_result again = {0};
    OWNED(run_result_release) struct run_result less = {0};
    write_result(result, LINE_IN_MAX, &first);
    OWNED(json_release) struct json *json = fuzz_parse(&first);
    FUZZ_CHECK(carried_result_read(json_root(json), &again, NULL) == 0);
    write_result(&again, LINE_IN_MAX, &second);
    FUZZ_CHECK(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    if (result->files.more >= INT32_MAX - RUN_FILES_MAX)
        return;
    write_result(result, 0, &without_files);
    OWNED(json_release) struct json *short_json = fuzz_parse(&without_files);
    if (result->figures.more >= INT32_MAX - RUN_FIGURES_MAX)
        return;
    FUZZ_CHECK(carried_result_read(json_root(short_json), &less, NULL) == 0);
    FUZZ_CHECK(less.files.count == 0 &&
               less.files.more == result->files.count + result->files.more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(json_release) struct json *json = NULL;
    OWNED(run_result_release) struct run_result result = {0};
    struct fault fault = {0};
    if (json_parse((const char *)data, size, &json, NULL) < 0)
        return -1;
    int r = carried_result_read(json_root(json), &result, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0)
        return 0;
    check_capture(&result.out);
    check_capture(&result.err);
    check_files(&result.files, RUN_FILES_MAX);
    check_files(&result.figures, RUN_FIGURES_MAX);
    check_same(&result);
    return 0;
}
