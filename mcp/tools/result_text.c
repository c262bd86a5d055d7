#include "mcp/tools/result_text.h"
#include "mcp/base/bounds.h"
#include "mcp/launch/checker.h"
#include "mcp/rules/findings_text.h"
#include "mcp/tools/outputs.h"
#include "mcp/tools/result_json.h"
#include "mcp/tools/result_notes.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A shown text with its notes, and a failure that joins two of them. */
#define TEXT_MAX (4 * SHOWN_MAX)

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* A part of the captured bytes, without the white space at one end or both. */
struct span {
    const char *data;
    size_t length;
};

/* The first line keeps its indentation: it may be the header of a table. */
static struct span strip_blank_lines(struct span span)
{
    struct span kept = span;
    for (size_t i = 0; i < span.length && is_space(span.data[i]); i++) {
        if (span.data[i] == '\n')
            kept = (struct span){span.data + i + 1, span.length - i - 1};
    }
    return kept;
}

static struct span strip_back(struct span span)
{
    while (span.length > 0 && is_space(span.data[span.length - 1]))
        span.length--;
    return span;
}

/* No character is cut in two: continuation bytes at the wrong side of a cut go with it. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static struct span head_of(struct span span, size_t limit)
{
    if (span.length <= limit)
        return span;
    size_t length = limit;
    while (length > 0 && limit - length < 3 && is_continuation(span.data[length]))
        length--;
    return (struct span){span.data, length};
}

static struct span tail_of(struct span span, size_t limit)
{
    if (span.length <= limit)
        return span;
    size_t length = limit;
    while (length > 0 && limit - length < 3 && is_continuation(span.data[span.length - length]))
        length--;
    return (struct span){span.data + span.length - length, length};
}

/* One stream, and where all of it can be read. */
struct source {
    const struct capture *capture;
    uint64_t number; /* of the output, or 0 */
    const char *stream;
};

static int put_cut(struct shown_stream *shown, const struct source *source, struct span head,
                   struct span tail)
{
    int r = buffer_append(&shown->text, head.data, head.length);
    if (r == 0)
        r = buffer_format(&shown->text, "\n[... %" PRIu64 " bytes not shown", shown->cut);
    if (r == 0 && source->number > 0)
        r = buffer_format(&shown->text, "; %s in the resource " OUTPUT_URI_FORMAT,
                          source->capture->cut > 0 ? "more of them" : "they are", source->number,
                          source->stream);
    if (r == 0)
        r = buffer_append_text(&shown->text, " ...]\n");
    return r < 0 ? r : buffer_append(&shown->text, tail.data, tail.length);
}

static int show_stream(const struct source *source, size_t limit, struct shown_stream *ret_shown)
{
    const struct capture *capture = source->capture;
    *ret_shown = (struct shown_stream){.text = BUFFER(TEXT_MAX)};
    struct span head = strip_blank_lines((struct span){capture->head.data, capture->head.length});
    struct span tail = strip_back((struct span){capture->tail.data, capture->tail.length});
    uint64_t kept = capture->total - (capture->head.length - head.length) -
                    (capture->tail.length - tail.length);
    bool is_whole = capture->cut == 0 && capture->tail.length == 0;
    if (is_whole) {
        tail = strip_back(head);
        kept = tail.length;
        if (kept <= limit)
            return buffer_append(&ret_shown->text, tail.data, tail.length);
    }
    head = head_of(is_whole ? tail : head, limit / 2);
    tail = tail_of(tail, limit / 2);
    ret_shown->cut = kept - head.length - tail.length;
    return put_cut(ret_shown, source, head, tail);
}

void result_text_release(struct result_text *shown)
{
    buffer_release(&shown->out.text);
    buffer_release(&shown->err.text);
}

int result_text_make(const struct run_result *result, uint64_t output_number,
                     struct result_text *ret_shown)
{
    /* A stream that needs less than its share leaves the rest to the other. */
    size_t out = result->out.total < SHOWN_MAX ? (size_t)result->out.total : SHOWN_MAX;
    size_t err =
        result->err.total < SHOWN_STDERR_SHARE ? (size_t)result->err.total : SHOWN_STDERR_SHARE;
    size_t for_out = SHOWN_MAX - err;
    size_t for_err = out < for_out ? SHOWN_MAX - out : SHOWN_MAX - for_out;
    struct result_text shown = {0};
    const struct source source_out = {&result->out, output_number, "stdout"};
    const struct source source_err = {&result->err, output_number, "stderr"};
    int r = show_stream(&source_out, for_out, &shown.out);
    if (r == 0)
        r = show_stream(&source_err, for_err, &shown.err);
    if (r < 0)
        result_text_release(&shown);
    else
        *ret_shown = shown;
    return r;
}

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
    const struct buffer *err = &view->shown->err.text;
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
    json_string(writer, view->shown->out.text.data, view->shown->out.text.length);
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

static struct record result_json_of(const struct result_view *view)
{
    return (struct record){
        .result = view->result,
        .image = view->image,
        .stdout_cut = view->shown->out.cut,
        .stderr_cut = view->shown->err.cut,
        .files = view->files,
        .patches = view->patches,
        .session = view->session,
        .network = view->network,
        .check = view->check,
    };
}

static void write_structured(struct json_writer *writer, const struct result_view *view)
{
    const struct record record = result_json_of(view);
    json_key(writer, "structuredContent");
    json_begin_object(writer);
    json_key(writer, "stdout");
    json_string(writer, view->shown->out.text.data, view->shown->out.text.length);
    json_key(writer, "stderr");
    json_string(writer, view->shown->err.text.data, view->shown->err.text.length);
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
    result_files_write_images(writer, view->files);
    result_files_write_links(writer, version, view->files);
    json_end_array(writer);
    if (view->format == RESULT_STRUCTURED && version >= VERSION_2025_06_18)
        write_structured(writer, view);
    json_key(writer, "isError");
    json_boolean(writer, false); /* the snippet may have failed; the tool did not */
}

static void write_uri(struct json_writer *writer, const char *member, uint64_t number,
                      const char *stream)
{
    char uri[OUTPUT_URI_SIZE];
    snprintf(uri, sizeof(uri), OUTPUT_URI_FORMAT, number, stream);
    json_text_member(writer, member, uri);
}

void result_text_write_meta(struct json_writer *writer, const void *data)
{
    const struct result_view *view = data;
    const struct record record = result_json_of(view);
    json_key(writer, "code-sandbox/result");
    json_begin_object(writer);
    result_json_write_members(writer, &record);
    if (view->output_number > 0 && record.stdout_cut > 0)
        write_uri(writer, "stdout_resource", view->output_number, "stdout");
    if (view->output_number > 0 && record.stderr_cut > 0)
        write_uri(writer, "stderr_resource", view->output_number, "stderr");
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
    result_json_write_check(writer, data);
    json_end_object(writer);
}

/* A member of structuredContent. */
struct schema_member {
    const char *name, *type, *description;
    bool nullable;
    const char *items; /* of an array: their type */
};

static const struct schema_member schema_members[] = {
    {"stdout", "string", "Output of the program; if it is long, its middle is cut", false},
    {"stderr", "string", "Its output to stderr, cut in the same way", false},
    {"outcome", "string",
     "How it ended: exited, signaled, timed_out, cpu_limit, out_of_memory, process_limit, "
     "output_limit, disk_limit or cancelled",
     false},
    {"exit_code", "integer", "0 means success; null unless it exited", true},
    {"signal", "string", "The signal that killed it; null unless it was signaled", true},
    {"stdout_bytes", "integer", "Bytes written to stdout", false},
    {"stderr_bytes", "integer", "Bytes written to stderr", false},
    {"stdout_cut", "integer", "Bytes of stdout not shown", false},
    {"stderr_cut", "integer", "Bytes of stderr not shown", false},
    {"duration_ms", "number", "Time from start to end", false},
    {"cpu_ms", "number", "Processor time used", false},
    {"peak_memory_bytes", "integer", "Peak memory, including its files", true},
    {"peak_processes", "integer", "Most processes and threads at once", true},
    {"isolation", "string", "How it was isolated from this computer", false},
    {"tier", "string",
     "F: all walls; P: the same, with copies of files as its /proc; C and L: no namespaces", false},
    {"start", "string",
     "How its sandbox was made: cold, for this call; prewarmed; or forked from a template", false},
    {"limits", "string", "What enforced its limits: cgroup or, less strictly, rlimit", false},
    {"enforced", "object", "The same for memory, processes and cpu each: cgroup, rlimit or watched",
     false},
    {"limits_reached", "array",
     "Limits it reached: memory, kernel_memory, processes, cpu, disk, output, time", false,
     "string"},
    {"image", "string", "The image it ran on", false},
    {"files", "array",
     "Files it left: name, bytes, media type, uri and path (or null), whether shown as an image; "
     "null if they could not be collected",
     true, "object"},
    {"figures", "integer", "Figures it made, shown or not; null like files", true},
    {"changes", "object",
     "Files changed in the copy of a folder; null without such a folder: files with path, status, "
     "lines added and removed; the patch; what it does not carry",
     true},
    {"network", "object",
     "The network it had: mode, hosts reached with streams and bytes, what was refused and why; null for "
     "none",
     true},
    {"session", "object",
     "The session it ran in: id, state (kept or lost), reason, calls, idle_seconds; null for none",
     true},
    {"policy", "object", "What the check before it found: findings and ms; null without a check",
     true},
};

static void write_schema_member(struct json_writer *writer, const struct schema_member *member)
{
    json_key(writer, member->name);
    json_begin_object(writer);
    json_key(writer, "type");
    if (member->nullable)
        json_begin_array(writer);
    json_text(writer, member->type);
    if (member->nullable) {
        json_text(writer, "null");
        json_end_array(writer);
    }
    if (member->items != NULL) {
        json_key(writer, "items");
        json_begin_object(writer);
        json_text_member(writer, "type", member->items);
        json_end_object(writer);
    }
    json_text_member(writer, "description", member->description);
    json_end_object(writer);
}

void result_text_write_schema(struct json_writer *writer)
{
    json_begin_object(writer);
    json_text_member(writer, "type", "object");
    json_key(writer, "properties");
    json_begin_object(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(schema_members); i++)
        write_schema_member(writer, &schema_members[i]);
    json_end_object(writer);
    json_key(writer, "required");
    json_begin_array(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(schema_members); i++)
        json_text(writer, schema_members[i].name);
    json_end_array(writer);
    json_end_object(writer);
}
