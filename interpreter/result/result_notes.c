#include "interpreter/result/result_notes.h"

#include "interpreter/base/bounds.h"
#include "interpreter/checker.h"
#include "interpreter/files/file_uri.h"
#include "interpreter/files/plain_name.h"
#include "interpreter/folders/changes_text.h"
#include "interpreter/result/left_text.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/result/outputs.h"
#include "interpreter/result/result_json.h"
#include "interpreter/result/shown_output.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/session_text.h"
#include "interpreter/settings/mounts_text.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LINE_MAX_SIZE (NOTES_FILES_MAX + FILE_URI_MAX)

/* The path of the copy or, without one, the URI, if the file is kept. */
static int append_place(struct buffer *text, const struct result_files *files,
                        const struct result_file *file)
{
    if (file->path != NULL)
        return buffer_format(text, " %s", file->path);
    if (!file->is_kept)
        return 0;
    int r = buffer_append(text, " ", 1);
    return r < 0 ? r : file_uri_write(text, files->call, file->name);
}

/* Why there is no copy, unless all files share the reason. */
static int append_error(struct buffer *text, const struct result_files *files,
                        const struct result_file *file)
{
    if (file->error == 0 || files->directory_error != 0)
        return 0;
    return buffer_format(text, ", not saved: %s", files_dir_reason(file->error));
}

/* "totals.csv (1.2 KiB) sandbox://files/7/totals.csv" */
static int describe_file(struct buffer *text, const struct result_files *files,
                         const struct result_file *file)
{
    int r = plain_name_append(text, file->name);
    if (r == 0)
        r = buffer_format(text, " (%s%s%s", quantity_size_short_text(file->file->size).text,
                          file->state == IMAGE_SHOWN ? ", shown" : "",
                          file->is_kept || file->path != NULL ? "" : ", not kept");
    if (r == 0)
        r = append_error(text, files, file);
    if (r == 0)
        r = buffer_append(text, ")", 1);
    return r < 0 ? r : append_place(text, files, file);
}

static int append_rest(struct buffer *text, size_t more, bool at_least)
{
    if (more == 0 && !at_least)
        return 0;
    if (more == 0)
        return buffer_append_text(text, "; and maybe more");
    return buffer_format(text, "; and %s%zu more", at_least ? "at least " : "", more);
}

static int note_files(const struct result_view *view, struct buffer *text)
{
    const struct result_files *files = view->files;
    size_t told = 0;
    size_t left = 0;
    int r = 0;
    for (size_t i = 0; i < files->count && r == 0; i++) {
        OWNED(buffer_release) struct buffer item = BUFFER(LINE_MAX_SIZE);
        if (files->list[i].is_figure || files->list[i].is_patch)
            continue;
        r = describe_file(&item, files, &files->list[i]);
        if (r == 0 && (left > 0 || (told > 0 && text->length + item.length > NOTES_FILES_MAX))) {
            left++;
            continue;
        }
        if (r == 0)
            r = buffer_append_text(text, told++ == 0 ? "Files: " : "; ");
        if (r == 0)
            r = buffer_append(text, item.data, item.length);
    }
    if (r == 0 && told == 0 && files->more_at_least)
        return buffer_format(text,
                             "No files were found among the first %d names, in at most %d "
                             "directories: there may be others.",
                             RUN_NAMES_MAX, RUN_DIRECTORIES_MAX);
    if (r < 0 || told == 0)
        return r;
    return append_rest(text, files->more + left, files->more_at_least);
}

static int note_left_out(const struct result_view *view, struct buffer *text)
{
    return left_text_note(&view->result->left_out, text);
}

static int append_reason(struct buffer *text, const struct result_file *file)
{
    switch (file->state) {
    case IMAGE_OFF:
        return buffer_append_text(text, "images are switched off here (--no-images)");
    case IMAGE_TOO_MANY:
        return buffer_format(text, "a result has at most %d images", IMAGES_MAX);
    case IMAGE_TOO_LARGE:
        return buffer_format(text,
                             "it has %s, and the images of a result may have %s together; save it "
                             "smaller",
                             quantity_size_short_text(file->file->size).text,
                             quantity_size_text(IMAGES_BYTES_MAX).text);
    case IMAGE_TOO_WIDE:
        return buffer_format(text,
                             "it has %u x %u pixels, and a side may have at most %d; save it "
                             "smaller",
                             file->pixels.width, file->pixels.height, IMAGE_SIDE_MAX);
    case IMAGE_WITHOUT_PIXELS:
        return buffer_append_text(text, "its size in pixels cannot be read");
    case IMAGE_INCOMPLETE:
        return buffer_append_text(text, "the picture is incomplete");
    case IMAGE_UNREADABLE:
        return buffer_append_text(text, "there is no memory for it");
    case IMAGE_SHOWN:
    case IMAGE_NONE:
        break;
    }
    return -EINVAL;
}

/* A figure is not in the line of files, so its URI follows here. */
static int describe_hidden(struct buffer *text, const struct result_files *files,
                           const struct result_file *file)
{
    int r = plain_name_append(text, file->name);
    if (r == 0)
        r = buffer_append_text(text, " is not shown: ");
    if (r == 0)
        r = append_reason(text, file);
    if (r == 0)
        r = buffer_append(text, ".", 1);
    return r < 0 || !file->is_figure ? r : append_place(text, files, file);
}

static int note_images(const struct result_view *view, struct buffer *text)
{
    const struct result_files *files = view->files;
    size_t told = 0;
    size_t left = 0;
    int r = 0;
    for (size_t i = 0; i < files->count && r == 0; i++) {
        enum image_state state = files->list[i].state;
        if (state == IMAGE_SHOWN || state == IMAGE_NONE)
            continue;
        if (told == NOTES_IMAGES_MAX) {
            left++;
            continue;
        }
        r = buffer_append_text(text, told++ == 0 ? "" : "\n");
        if (r == 0)
            r = describe_hidden(text, files, &files->list[i]);
    }
    return r < 0 || left == 0 ? r : buffer_format(text, "\n%zu more images are not shown.", left);
}

/* Where copies of figures are, or why there is none: what is shown is seen. */
static int note_figures(const struct result_view *view, struct buffer *text)
{
    const struct result_files *files = view->files;
    size_t told = 0;
    int r = 0;
    for (size_t i = 0; i < files->count && r == 0; i++) {
        const struct result_file *file = &files->list[i];
        bool is_told = file->path != NULL ? file->state == IMAGE_SHOWN
                                          : file->error != 0 && files->directory_error == 0;
        if (!file->is_figure || !is_told)
            continue;
        r = buffer_append_text(text, told++ == 0 ? "Figures: " : "; ");
        if (r == 0)
            r = file->path != NULL ? buffer_append_text(text, file->path)
                                   : plain_name_append(text, file->name);
        if (r == 0 && file->path == NULL)
            r = append_error(text, files, file);
    }
    return r;
}

static int note_directory(const struct result_view *view, struct buffer *text)
{
    const struct result_files *files = view->files;
    if (files->directory_error == 0)
        return 0;
    return buffer_format(text, "The files could not be copied to %s: %s.", files->directory,
                         files_dir_reason(files->directory_error));
}

static int note_undrawn(const struct result_view *view, struct buffer *text)
{
    size_t undrawn = view->files->undrawn;
    if (undrawn == 0)
        return 0;
    return buffer_format(text, "%s%zu more figure%s not shown: a result has at most %d.",
                         view->files->undrawn_at_least ? "At least " : "", undrawn,
                         undrawn == 1 ? " is" : "s are", RUN_FIGURES_MAX);
}

static int note_loss(const struct result_view *view, struct buffer *text)
{
    return view->files->is_lost ? buffer_append_text(text, RESULT_FILES_LOST) : 0;
}

static int note_appeared(const struct result_view *view, struct buffer *text)
{
    return mounts_warn(&view->result->appeared, RUN_OF_RESULT, text);
}

static int note_earlier(const struct result_view *view, struct buffer *text)
{
    return view->earlier != NULL ? buffer_append_text(text, view->earlier) : 0;
}

static int note_changes(const struct result_view *view, struct buffer *text)
{
    return changes_text_note(view->patches, view->files->call, true, text);
}

static int note_policy(const struct result_view *view, struct buffer *text)
{
    return view->check == NULL
               ? 0
               : findings_text_list(&view->check->findings, SEVERITY_WARN, "Policy: ", text);
}

/* What a compiler says of a program that it has compiled, as far as a note may have it. */
static int note_compiler(const struct result_view *view, struct buffer *text)
{
    const struct run_compile *compile = view->result->compile;
    if (compile == NULL || view->result->outcome == OUTCOME_COMPILE_FAILED)
        return 0;
    const struct capture *said = compile->err.total > 0 ? &compile->err : &compile->out;
    size_t length = said->head.length < NOTES_COMPILER_MAX ? said->head.length : NOTES_COMPILER_MAX;
    if (length == 0)
        return 0;
    int r = buffer_append_text(text, "The compiler says:\n");
    if (r == 0)
        r = buffer_append(text, said->head.data, length);
    return r < 0 || length == said->total ? r : buffer_append_text(text, "\n[... cut ...]");
}

/* The JSON of a failure has the output as it was written. */
static int note_drawn(const struct result_view *view, struct buffer *text)
{
    const struct {
        const struct shown_stream *shown;
        const char *name;
    } streams[] = {{&view->shown->out, "stdout"}, {&view->shown->err, "stderr"}};
    size_t told = 0;
    int r = 0;
    if (view->format == RESULT_JSON && !result_json_is_success(view->result))
        return 0;
    for (size_t i = 0; i < ARRAY_LENGTH(streams) && r == 0; i++) {
        if (!streams[i].shown->is_drawn)
            continue;
        r = buffer_format(text, "%s%s",
                          told++ == 0 ? "Left out: redraws and terminal codes of " : ", ",
                          streams[i].name);
        if (r == 0 && view->output_number > 0)
            r = buffer_format(text, " (raw: " OUTPUT_URI_FORMAT ")", view->output_number,
                              streams[i].name);
    }
    return r;
}

static int note_session(const struct result_view *view, struct buffer *text)
{
    return view->session != NULL ? session_text_note(view->session, text) : 0;
}

/* How it ended and, in a session, what that means for it. The old object has a member for an exit code. */
static int note_end(const struct result_view *view, struct buffer *text)
{
    if (view->format == RESULT_JSON && view->result->outcome == OUTCOME_EXITED)
        return 0;
    int r = outcome_text_describe(view->result, text);
    return r < 0 || view->session == NULL ? r : session_text_end(view->session, view->result, text);
}

static int note_advice(const struct result_view *view, struct buffer *text)
{
    const struct outcome_text_reader reader = {
        .is_model = true, .wall_max_ms = view->wall_max_ms, .network = view->network};
    return outcome_text_advise(view->result, &reader, text);
}

static int note_hint(const struct result_view *view, struct buffer *text)
{
    return view->hint != NULL ? buffer_append_text(text, view->hint) : 0;
}

typedef int note_writer(const struct result_view *view, struct buffer *text);

/* In the order of the text: the fact first, advice after it. Each appends its lines, if any. */
static note_writer *const writers_of_end[] = {note_end, note_advice, note_hint};

static note_writer *const writers[] = {
    note_appeared, note_earlier, note_policy,    note_compiler, note_files,
    note_left_out, note_figures, note_directory, note_images,   note_undrawn,
    note_loss,     note_changes, note_drawn,     note_session,
};

static int compose(note_writer *const list[], size_t count, const struct result_view *view,
                   struct buffer *text)
{
    int r = 0;
    size_t begin = text->length;
    for (size_t i = 0; i < count && r == 0; i++) {
        OWNED(buffer_release) struct buffer lines = BUFFER(text->maximum);
        r = list[i](view, &lines);
        if (lines.length > 0 && lines.data[lines.length - 1] == '\n')
            lines.length--;
        if (r == 0 && lines.length > 0 && text->length > begin)
            r = buffer_append(text, "\n", 1);
        if (r == 0)
            r = buffer_append(text, lines.data, lines.length);
    }
    return r;
}

int result_notes_compose_end(const struct result_view *view, struct buffer *text)
{
    return compose(writers_of_end, ARRAY_LENGTH(writers_of_end), view, text);
}

int result_notes_compose(const struct result_view *view, struct buffer *text)
{
    return compose(writers, ARRAY_LENGTH(writers), view, text);
}
