#include "mcp/extension/exec_output.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 32
#define SHORT 256 /* bytes: rather text, however it is written */
/* Of each stream in an answer: with both as base64, there is room for them in a line. */
#define SHARE_MAX (LINE_OUT_MAX / 4 + LINE_OUT_MAX / 16)

/* Whether as text it takes no more of a line than it would as base64, or not much anyway. */
static bool is_text(const char *bytes, size_t length)
{
    size_t escaped = 0;
    for (size_t i = 0; i < length; i++)
        escaped += (unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t' ? 5 : 0;
    bool is_short = escaped <= length / 4 || length < SHORT;
    return is_short && utf8_valid_length(bytes, length) == length;
}

void exec_output_write(struct json_writer *writer, const char *name, const char *bytes,
                       size_t length)
{
    char key[NAME_SIZE];
    if (is_text(bytes, length)) {
        json_key(writer, name);
        json_string(writer, bytes, length);
        return;
    }
    snprintf(key, sizeof(key), "%s_base64", name);
    json_key(writer, key);
    json_base64(writer, bytes, length);
}

/* Head, a line for what is missing, tail: at most SHARE_MAX bytes of the stream. */
static int join(const struct capture *capture, struct buffer *text)
{
    size_t tail = capture->tail.length < SHARE_MAX / 4 ? capture->tail.length : SHARE_MAX / 4;
    size_t head = capture->head.length + tail < SHARE_MAX ? capture->head.length : SHARE_MAX - tail;
    uint64_t cut = capture->total - head - tail;
    int r = buffer_append(text, capture->head.data, head);
    if (r == 0 && cut > 0)
        r = buffer_format(text, "\n[... %llu bytes not kept ...]\n", (unsigned long long)cut);
    return r < 0 ? r : buffer_append(text, capture->tail.data + capture->tail.length - tail, tail);
}

bool exec_output_write_capture(struct json_writer *writer, const char *name,
                               const struct capture *capture)
{
    OWNED(buffer_release) struct buffer text = BUFFER(SHARE_MAX + 128);
    bool is_kept = join(capture, &text) == 0;
    if (is_kept)
        exec_output_write(writer, name, text.data != NULL ? text.data : "", text.length);
    else
        json_text_member(writer, name, NULL);
    return is_kept && text.length == capture->total;
}

static void write_piece(struct json_writer *writer, const void *data)
{
    const struct exec_piece *piece = data;
    json_begin_object(writer);
    json_key(writer, "command");
    rpc_answer_write_id(piece->answer, writer);
    json_text_member(writer, "stream", piece->stream == OUTPUT_STDOUT ? "stdout" : "stderr");
    exec_output_write(writer, "data", piece->bytes, piece->length);
    json_end_object(writer);
}

static void tell(const struct exec_piece *piece, const char *bytes, size_t length)
{
    struct exec_piece told = *piece;
    told.bytes = bytes;
    told.length = length;
    if (length > 0)
        rpc_notify(rpc_answer_rpc(piece->answer), "notifications/code-sandbox/output", write_piece,
                   &told);
}

/* How many bytes at the end may be the beginning of a character: 0..3. */
static size_t unfinished(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char byte = (unsigned char)bytes[length - back];
        if ((byte & 0xc0) == 0x80)
            continue;
        size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return whole > back ? back : 0;
    }
    return 0;
}

void exec_output_tell(struct exec_stream *stream, const struct exec_piece *piece, bool is_last)
{
    OWNED(buffer_release) struct buffer joined = BUFFER(stream->length + piece->length);
    const char *bytes = piece->bytes;
    size_t length = piece->length;
    if (stream->length > 0 && length > 0 &&
        buffer_append(&joined, stream->rest, stream->length) == 0 &&
        buffer_append(&joined, bytes, length) == 0) {
        bytes = joined.data;
        length = joined.length;
        stream->length = 0;
    } else if (stream->length > 0 && (is_last || length > 0)) {
        tell(piece, stream->rest, stream->length);
        stream->length = 0;
    }
    size_t rest = is_last ? 0 : unfinished(bytes, length);
    tell(piece, bytes, length - rest);
    if (rest > 0) {
        memcpy(stream->rest, bytes + length - rest, rest);
        stream->length = rest;
    }
}
