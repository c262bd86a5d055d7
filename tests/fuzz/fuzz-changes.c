/*
 * Any bytes as the report of changes: it is refused with a fault, or the notes are plain and bounded, and
 * the member of the record is valid JSON with as many files.
 */
#include "interpreter/base/bounds.h"
#include "interpreter/folders/changes_text.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char folder[] = "/home/me/project";

static void check_member(const struct folder_patches *patches)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_OUT_MAX);
    struct json_writer *writer = NULL;
    FUZZ_CHECK(json_writer_open(&text, &writer) == 0);
    json_begin_object(writer);
    json_key(writer, "changes");
    changes_text_write(writer, patches, 7);
    json_end_object(writer);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    OWNED(json_release) struct json *json = fuzz_parse(&text);
    const struct json_value *changes = json_member(json_root(json), "changes");
    FUZZ_CHECK(json_member(changes, "files")->count == patches->list[0].changes.file_count);
}

static void check_note(const struct folder_patches *patches)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_OUT_MAX);
    FUZZ_CHECK(changes_text_note(patches, 7, true, &text) == 0);
    fuzz_check_plain(buffer_string(&text), true);
    FUZZ_CHECK(text.length <= (NOTES_CHANGES_MAX + NOTES_LEFT_OUT_MAX + 8) *
                                  (NOTES_NAME_MAX + CHANGES_REASON_SIZE + 64));
    FUZZ_CHECK((text.length > 0) == patches->list[0].changes.is_by_call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault fault = {0};
    OWNED(folder_patches_release) struct folder_patches patches = {.count = 1};
    patches.list[0] = (struct folder_patch){.folder = folder, .changes = CHANGES_NONE};
    int r = changes_read((const char *)data, size, &patches.list[0].changes, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0)
        return 0;
    FUZZ_CHECK(patches.list[0].changes.file_count <= CHANGES_TOLD_MAX);
    FUZZ_CHECK(patches.list[0].changes.patch_bytes <= CHANGES_PATCH_MAX);
    check_member(&patches);
    check_note(&patches);
    return 0;
}
