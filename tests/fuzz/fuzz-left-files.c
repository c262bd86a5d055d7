/*
 * Files of any names and bytes as those that a run has left: the notes are plain and bounded, the blocks
 * and the record valid JSON, each URI leads back to its file, no image is past its limits, and each name
 * can be made plain.
 *
 * The first byte chooses how many bytes of the rest are names, one each line; the others are the content
 * of all. A name that begins with a digit is that of a figure.
 */
#include "interpreter/base/bounds.h"
#include "interpreter/files/file_uri.h"
#include "interpreter/files/plain_name.h"
#include "interpreter/result/result_files.h"
#include "interpreter/result/result_notes.h"
#include "interpreter/result/shown_output.h"
#include "mcp/tools/result_content.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

static void check_plain_name(const char *name)
{
    OWNED_MEMORY char *plain = strdup(name);
    FUZZ_CHECK(plain != NULL);
    plain_name_make(plain);
    fuzz_check_plain(plain, false);
    FUZZ_CHECK(strlen(plain) <= strlen(name) && (plain[0] != '\0') == (name[0] != '\0'));
    FUZZ_CHECK(plain[0] == '\0' || strchr("-.~ ", plain[0]) == NULL);
    OWNED_MEMORY char *again = strdup(plain);
    FUZZ_CHECK(again != NULL);
    plain_name_make(again);
    FUZZ_CHECK(strcmp(again, plain) == 0);
}

static void add_file(struct run_files *files, size_t maximum, const char *path, int fd, size_t size)
{
    if (files->count == maximum || path[0] == '\0' || strlen(path) >= RUN_FILE_PATH_SIZE) {
        files->more++;
        return;
    }
    struct run_file *file = &files->list[files->count++];
    *file = (struct run_file){.path = strdup(path), .fd = dup(fd), .size = size};
    FUZZ_CHECK(file->path != NULL && file->fd >= 0);
}

static void read_files(struct fuzz_input *names, const struct fuzz_input *content,
                       struct run_result *result)
{
    int fd = fuzz_file(content->data, content->size);
    for (char *line; (line = fuzz_line(names)) != NULL; free(line)) {
        bool is_figure = line[0] >= '0' && line[0] <= '9';
        check_plain_name(line);
        add_file(is_figure ? &result->figures : &result->files,
                 is_figure ? RUN_FIGURES_MAX : RUN_FILES_MAX, line, fd, content->size);
    }
}

static void check_notes(const struct run_result *result, const struct result_files *files)
{
    const struct shown_output shown = {0};
    const struct result_view view = {.result = result, .shown = &shown, .files = files};
    OWNED(buffer_release) struct buffer notes = BUFFER(4 * SHOWN_MAX);
    FUZZ_CHECK(result_notes_compose(&view, &notes) == 0);
    FUZZ_CHECK(notes.length <= 2 * NOTES_FILES_MAX + FILE_URI_MAX * (NOTES_IMAGES_MAX + 1));
    const char *text = buffer_string(&notes);
    fuzz_check_plain(text, true);
    FUZZ_CHECK(notes.length == 0 || text[notes.length - 1] != '\n');
    FUZZ_CHECK(files->count > 0 || files->undrawn > 0 || notes.length == 0);
}

static void check_uri(const struct result_files *files, struct kept_files *kept,
                      const struct json_value *uri, size_t size)
{
    OWNED(file_uri_release) struct file_uri parsed = {0};
    struct kept_view view;
    FUZZ_CHECK(file_uri_read(uri->text, uri->length, &parsed) == 0 && parsed.call == files->call);
    FUZZ_CHECK(kept_files_find(kept, 0, parsed.call, parsed.path, &view));
    FUZZ_CHECK(view.file->size == size);
}

static void check_blocks(const struct result_files *files, struct kept_files *kept, size_t size)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_OUT_MAX);
    struct json_writer *writer = NULL;
    FUZZ_CHECK(json_writer_open(&text, &writer) == 0);
    json_begin_object(writer);
    json_key(writer, "content");
    json_begin_array(writer);
    result_content_write_images(writer, files);
    result_content_write_links(writer, VERSION_2025_11_25, files);
    json_end_array(writer);
    json_key(writer, "files");
    result_files_write(writer, files);
    json_end_object(writer);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    OWNED(json_release) struct json *json = fuzz_parse(&text);
    size_t images = 0;
    const struct json_value *block = json_member(json_root(json), "content")->first;
    for (; block != NULL; block = block->next) {
        if (json_is(json_member(block, "type"), "image"))
            images++;
        else
            check_uri(files, kept, json_member(block, "uri"), size);
    }
    FUZZ_CHECK(images <= IMAGES_MAX && images * size <= IMAGES_BYTES_MAX);
    const struct json_value *file = json_member(json_root(json), "files")->first;
    for (; file != NULL; file = file->next)
        check_uri(files, kept, json_member(file, "uri"), size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    size_t share = input.size * fuzz_byte(&input) / 255;
    share = share < input.size ? share : input.size;
    struct fuzz_input names = {input.data, share};
    const struct fuzz_input content = {input.data + share, input.size - share};
    OWNED(run_result_release) struct run_result result = {0};
    read_files(&names, &content, &result);
    OWNED(kept_files_release) struct kept_files kept = {0};
    const struct files_dir directory = {0};
    OWNED(result_files_release) struct result_files files;
    result_files_make(&(struct result_files_request){.result = &result,
                                                     .call = 7,
                                                     .shows_images = true,
                                                     .kept = &kept,
                                                     .directory = &directory},
                      &files);
    check_notes(&result, &files);
    check_blocks(&files, &kept, content.size);
    return 0;
}
