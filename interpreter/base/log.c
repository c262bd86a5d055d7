#include "interpreter/base/log.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* PIPE_BUF: written to a pipe at once */
#define CALL_LINE_MAX 65536 /* of a call that has reached many hosts */
#define HOSTS_MAX 16 /* in a line: of text, or of each kind */

static struct {
    enum log_level level;
    enum log_format format;
    int file; /* 0: none, lines go to stderr */
    int patience_ms; /* with a reader that has not read what is before a line */
} log_state;

int log_open(const struct log_options *options, struct fault *fault)
{
    int fd = 0;
    if (options->path != NULL) {
        fd = open(options->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                  0600);
        if (fd < 0)
            return fault_set(fault, errno, "opening the log %s: %m", options->path);
    }
    log_state.level = options->level;
    log_state.format = options->format;
    log_state.file = fd;
    return 0;
}

void log_wait_for_reader(int milliseconds)
{
    log_state.patience_ms = milliseconds;
}

/* Never fails, nor blocks for long: a line that cannot be written is dropped. */
static void write_line(const char *line, size_t length)
{
    int fd = log_state.file > 0 ? log_state.file : STDERR_FILENO;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (poll(&ready, 1, log_state.patience_ms) <= 0)
        return;
    ssize_t written = write(fd, line, length);
    (void)written;
}

/* "2026-11-21T23:30:00Z", for files only: readers of stderr have a clock. */
static void put_time(char text[32])
{
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void write_text(const char *text)
{
    char stamp[32] = "code-sandbox-mcp:";
    char line[LINE_MAX_BYTES];
    if (log_state.file > 0)
        put_time(stamp);
    int length = snprintf(line, sizeof(line) - 1, "%s %s", stamp, text);
    if (length < 0)
        return;
    size_t end = (size_t)length < sizeof(line) - 1 ? (size_t)length : sizeof(line) - 2;
    line[end] = '\n';
    write_line(line, end + 1);
}

static void begin_json(struct json_writer *writer, const char *level)
{
    char stamp[32];
    put_time(stamp);
    json_begin_object(writer);
    json_text_member(writer, "time", stamp);
    json_text_member(writer, "level", level);
}

/* Ends the object and writes it, if it fits in a line. */
static void end_json(struct json_writer *writer, struct buffer *text)
{
    json_end_object(writer);
    if (json_writer_close(writer) == 0 && buffer_append(text, "\n", 1) == 0)
        write_line(text->data, text->length);
}

void log_note(const char *format, ...)
{
    char note[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note, sizeof(note), format, arguments);
    va_end(arguments);
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LINE_MAX_BYTES);
    struct json_writer *writer = NULL;
    if (log_state.format != LOG_JSON || json_writer_open(&text, &writer) < 0) {
        write_text(note);
        return;
    }
    begin_json(writer, "warning");
    json_text_member(writer, "message", note);
    end_json(writer, &text);
}

void log_note_lines(const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        log_note("%.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static double milliseconds_of(int64_t nanoseconds)
{
    return (double)(nanoseconds / 1000) / 1000;
}

/* ", reached api.example.org:443 (5120 bytes), refused example.com (not_listed)" */
static void append_network(struct buffer *text, const struct network_record *record)
{
    size_t shown = 0;
    for (size_t i = 0; i < record->host_count && shown < HOSTS_MAX; i++) {
        const struct record_host *host = &record->hosts[i];
        buffer_format(text, ", reached %s:%u (%" PRIu64 " bytes)", host->host, host->port,
                      host->received + host->sent);
        shown++;
    }
    for (size_t i = 0; i < record->refusal_count && shown < HOSTS_MAX; i++) {
        const struct record_refusal *refused = &record->refusals[i];
        buffer_format(text, ", refused %s", refused->host);
        if (refused->port != 0)
            buffer_format(text, ":%u", refused->port);
        buffer_format(text, " (%s)", refusal_name((enum refusal)refused->reason));
        shown++;
    }
    size_t left = record->host_count + record->refusal_count - shown;
    if (left > 0)
        buffer_format(text, " and %zu more", left);
}

static void write_network(struct json_writer *writer, const struct network_record *record)
{
    json_key(writer, "reached");
    json_begin_array(writer);
    for (size_t i = 0; i < record->host_count && i < HOSTS_MAX; i++) {
        json_begin_object(writer);
        json_text_member(writer, "host", record->hosts[i].host);
        json_number_member(writer, "port", record->hosts[i].port);
        json_number_member(writer, "bytes",
                           (int64_t)(record->hosts[i].received + record->hosts[i].sent));
        json_end_object(writer);
    }
    json_end_array(writer);
    json_key(writer, "refused");
    json_begin_array(writer);
    for (size_t i = 0; i < record->refusal_count && i < HOSTS_MAX; i++) {
        json_begin_object(writer);
        json_text_member(writer, "host", record->refusals[i].host);
        json_number_member(writer, "port", record->refusals[i].port);
        json_text_member(writer, "reason", refusal_name((enum refusal)record->refusals[i].reason));
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_call(struct json_writer *writer, const struct log_call *call)
{
    const struct run_result *result = call->result;
    json_text_member(writer, "tool", call->tool);
    json_text_member(writer, "outcome", call->outcome);
    if (result != NULL) {
        if (result->outcome == OUTCOME_EXITED)
            json_number_member(writer, "exit_code", result->exit_code);
        json_key(writer, "run_ms");
        json_double(writer, milliseconds_of(result->duration_ns));
        json_key(writer, "queue_ms");
        json_double(writer, milliseconds_of(result->queued_ns));
    }
    json_key(writer, "total_ms");
    json_double(writer, milliseconds_of(call->total_ns));
    if (result != NULL && result->network != NULL)
        write_network(writer, result->network);
}

void log_call(const struct log_call *call)
{
    if (log_state.level < LOG_CALLS)
        return;
    OWNED(buffer_release) struct buffer text = BUFFER(CALL_LINE_MAX);
    struct json_writer *writer = NULL;
    if (log_state.format == LOG_JSON && json_writer_open(&text, &writer) == 0) {
        begin_json(writer, "info");
        write_call(writer, call);
        end_json(writer, &text);
        return;
    }
    const struct run_result *result = call->result;
    buffer_format(&text, "%s: %s", call->tool, call->outcome);
    if (result != NULL && result->outcome == OUTCOME_EXITED)
        buffer_format(&text, " %d", result->exit_code);
    buffer_format(&text, ", %.1f ms", milliseconds_of(call->total_ns));
    if (result != NULL)
        buffer_format(&text, ": waited %.1f, ran %.1f", milliseconds_of(result->queued_ns),
                      milliseconds_of(result->duration_ns));
    if (result != NULL && result->network != NULL)
        append_network(&text, result->network);
    const char *line = buffer_string(&text);
    if (line != NULL)
        write_text(line);
}
