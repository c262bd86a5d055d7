#include "mcp/tools/result_text.h"

#include "interpreter/base/bounds.h"
#include "interpreter/checker.h"
#include "interpreter/result/outputs.h"
#include "interpreter/result/result_json.h"
#include "interpreter/result/result_notes.h"
#include "interpreter/result/shown_output.h"
#include "interpreter/rules/findings_text.h"
#include "mcp/tools/result_content.h"
#include "sandbox/base/owned.h"

#include <inttypes.h>
#include <stdio.h>

/* A shown text with its notes, and a failure that joins two of them. */
#define TEXT_MAX (4 * SHOWN_MAX)

static void write_text_block(struct json_writer *writer, const struct buffer *text)
{
    json_begin_object(writer);
    json_text_member(writer, "type", "text");
    json_key(writer, "text");
    json_string(writer, text->data, text->length);
    json_end_object(writer);
}

static const char *what_was_left(const struct result_view *view)
{
    if (result_files_has_images(view->files))
        return "It saved pictures.";
    if (view->files->is_lost)
        return "It may have left files.";
    return view->files->count > 0 ? "It left files." : view->silent_hint;
}

static void write_success(struct json_writer *writer, const struct result_view *view)
{
    const struct buffer *out = &view->shown->out.text;
    const struct buffer *err = &view->shown->err.text;
    OWNED(buffer_release) struct buffer silence = BUFFER(TEXT_MAX);
    if (out->length == 0) {
        buffer_format(&silence, "%s printed nothing%s. %s",
                      view->session != NULL ? "The code ran and"
                                            : "The program ended with exit code 0 and",
                      err->length > 0 ? " to stdout" : "", what_was_left(view));
        out = &silence;
    }
    write_text_block(writer, out);
    if (err->length > 0)
        write_text_block(writer, err);
}

static int append_lines(struct buffer *text, const struct buffer *lines)
{
    int r = buffer_append(text, lines->data, lines->length);
    return r < 0 || lines->length == 0 ? r : buffer_append(text, "\n", 1);
}

/* stdout, stderr, how it ended, and what to do about it. */
static int compose_failure(const struct result_view *view, struct buffer *text)
{
    int r = append_lines(text, &view->shown->out.text);
    if (r == 0)
        r = append_lines(text, &view->shown->err.text);
    if (r == 0 && text->length == 0)
        r = buffer_append_text(text, "no output\n");
    return r < 0 ? r : result_notes_compose_end(view, text);
}

/* stderr, followed by the outcome and the advice: the object has no other place for them. */
static int compose_stderr(const struct result_view *view, struct buffer *text)
{
    const struct buffer *err = &view->raw->err.text;
    OWNED(buffer_release) struct buffer end = BUFFER(TEXT_MAX);
    int r = result_notes_compose_end(view, &end);
    if (r == 0)
        r = end.length > 0 ? append_lines(text, err) : buffer_append(text, err->data, err->length);
    return r < 0 ? r : buffer_append(text, end.data, end.length);
}

/* The object that the Python server gave. */
static int compose_failure_json(const struct result_view *view, struct buffer *text)
{
    OWNED(buffer_release) struct buffer err = BUFFER(TEXT_MAX);
    int r = compose_stderr(view, &err);
    struct json_writer *writer = NULL;
    if (r == 0)
        r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_number_member(writer, "exit_code", result_json_exit_status(view->result));
    json_key(writer, "stderr");
    json_string(writer, err.data, err.length);
    json_key(writer, "stdout");
    json_string(writer, view->raw->out.text.data, view->raw->out.text.length);
    json_end_object(writer);
    return json_writer_close(writer);
}

static void write_failure(struct json_writer *writer, const struct result_view *view)
{
    /* JSON may need six bytes for one. */
    OWNED(buffer_release) struct buffer text = BUFFER(6 * TEXT_MAX);
    int r = view->format == RESULT_JSON ? compose_failure_json(view, &text)
                                        : compose_failure(view, &text);
    if (r < 0)
        buffer_append_text(&text, "\n[no memory for the rest]");
    write_text_block(writer, &text);
}

static struct record result_json_of(const struct result_view *view, const struct shown_output *text)
{
    return (struct record){
        .result = view->result,
        .image = view->image,
        .stdout_cut = text->out.cut,
        .stderr_cut = text->err.cut,
        .files = view->files,
        .patches = view->patches,
        .session = view->session,
        .network = view->network,
        .check = view->check,
    };
}

static void write_structured(struct json_writer *writer, const struct result_view *view)
{
    const struct record record = result_json_of(view, view->raw);
    json_key(writer, "structuredContent");
    json_begin_object(writer);
    json_key(writer, "stdout");
    json_string(writer, view->raw->out.text.data, view->raw->out.text.length);
    json_key(writer, "stderr");
    json_string(writer, view->raw->err.text.data, view->raw->err.text.length);
    result_json_write_members(writer, &record);
    json_end_object(writer);
}

static void write_notes(struct json_writer *writer, const struct result_view *view)
{
    OWNED(buffer_release) struct buffer notes = BUFFER(TEXT_MAX);
    result_notes_compose(view, &notes);
    if (notes.length > 0)
        write_text_block(writer, &notes);
}

void result_text_write(struct json_writer *writer, enum version version, const void *data)
{
    const struct result_view *view = data;
    json_key(writer, "content");
    json_begin_array(writer);
    if (result_json_is_success(view->result))
        write_success(writer, view);
    else
        write_failure(writer, view);
    write_notes(writer, view);
    result_content_write_images(writer, view->files);
    result_content_write_links(writer, version, view->files);
    json_end_array(writer);
    if (view->format == RESULT_STRUCTURED && version >= VERSION_2025_06_18)
        write_structured(writer, view);
    json_key(writer, "isError");
    json_boolean(writer, false); /* the snippet may have failed; the tool did not */
}

/* Where all of a stream is, if the text does not have it. */
static void write_uri(struct json_writer *writer, const char *member, uint64_t number,
                      const char *stream, const struct shown_stream *shown)
{
    if (number == 0 || (shown->cut == 0 && !shown->is_drawn))
        return;
    char uri[OUTPUT_URI_SIZE];
    snprintf(uri, sizeof(uri), OUTPUT_URI_FORMAT, number, stream);
    json_text_member(writer, member, uri);
}

void result_text_write_meta(struct json_writer *writer, const void *data)
{
    const struct result_view *view = data;
    const struct record record = result_json_of(view, view->shown);
    json_key(writer, "code-sandbox/result");
    json_begin_object(writer);
    result_json_write_members(writer, &record);
    write_uri(writer, "stdout_resource", view->output_number, "stdout", &view->shown->out);
    write_uri(writer, "stderr_resource", view->output_number, "stderr", &view->shown->err);
    json_end_object(writer);
}

void result_text_write_error(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct fault *fault = data;
    json_key(writer, "content");
    json_begin_array(writer);
    json_begin_object(writer);
    json_text_member(writer, "type", "text");
    json_text_member(writer, "text", fault->text);
    json_end_object(writer);
    json_end_array(writer);
    json_boolean_member(writer, "isError", true);
}

void result_text_write_error_meta(struct json_writer *writer, const void *data)
{
    const struct fault *fault = data;
    json_key(writer, "code-sandbox/error");
    result_json_write_fault(writer, fault);
}

void result_text_write_not_run(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct check *check = data;
    OWNED(buffer_release) struct buffer text = BUFFER(TEXT_MAX);
    findings_text_list(&check->findings, SEVERITY_REFUSE, "Not run: ", &text);
    json_key(writer, "content");
    json_begin_array(writer);
    write_text_block(writer, &text);
    json_end_array(writer);
    json_boolean_member(writer, "isError", true);
}

void result_text_write_not_run_meta(struct json_writer *writer, const void *data)
{
    json_key(writer, "code-sandbox/result");
    json_begin_object(writer);
    json_text_member(writer, "outcome", "refused");
    json_key(writer, "policy");
    result_json_write_check(writer, data);
    json_end_object(writer);
}
