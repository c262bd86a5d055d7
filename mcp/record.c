#include "mcp/record.h"
#include "sandbox/limits.h"

#include <inttypes.h>
#include <signal.h>

#define EXIT_TIMED_OUT 124 /* as timeout(1) says it */
#define EXIT_SIGNALED 128  /* plus the signal, as shells say it */

bool record_is_success(const struct run_result *result)
{
    return result->outcome == OUTCOME_EXITED && result->exit_code == 0;
}

int record_exit_status(const struct run_result *result)
{
    switch (result->outcome) {
    case OUTCOME_EXITED:
        return result->exit_code;
    case OUTCOME_SIGNALED:
        return EXIT_SIGNALED + result->signal;
    case OUTCOME_TIMED_OUT:
        return EXIT_TIMED_OUT;
    case OUTCOME_OUT_OF_MEMORY:
        return EXIT_SIGNALED + SIGKILL;
    case OUTCOME_OUTPUT_LIMIT:
        return EXIT_SIGNALED + SIGXFSZ;
    case OUTCOME_CANCELLED:
    case OUTCOME_COUNT:
        break;
    }
    return EXIT_SIGNALED + SIGTERM;
}

static int describe_size(uint64_t bytes, struct buffer *text)
{
    if (bytes >= MEBIBYTE && bytes % MEBIBYTE == 0)
        return buffer_format(text, "%" PRIu64 " MiB", bytes / MEBIBYTE);
    if (bytes >= KIBIBYTE && bytes % KIBIBYTE == 0)
        return buffer_format(text, "%" PRIu64 " KiB", bytes / KIBIBYTE);
    return buffer_format(text, "%" PRIu64 " bytes", bytes);
}

static int describe_limit(const char *before, uint64_t bytes, const char *after,
                          struct buffer *text)
{
    int r = buffer_append_text(text, before);
    if (r == 0)
        r = describe_size(bytes, text);
    return r < 0 ? r : buffer_append_text(text, after);
}

int record_describe_end(const struct run_result *result, struct buffer *text)
{
    switch (result->outcome) {
    case OUTCOME_EXITED:
        return buffer_format(text, "exit code: %d", result->exit_code);
    case OUTCOME_SIGNALED:
        return buffer_format(text, "killed by %s", signal_name(result->signal));
    case OUTCOME_TIMED_OUT:
        return buffer_format(text, "timed out after %g s", (double)result->wall_limit_ms / 1000);
    case OUTCOME_OUT_OF_MEMORY:
        return describe_limit("out of memory (limit ", result->memory_limit_bytes, ")", text);
    case OUTCOME_OUTPUT_LIMIT:
        return describe_limit("stopped, because it printed more than ", result->output_limit_bytes,
                              "", text);
    case OUTCOME_CANCELLED:
    case OUTCOME_COUNT:
        break;
    }
    return buffer_append_text(text, "cancelled");
}

static void write_milliseconds(struct json_writer *writer, const char *key, int64_t nanoseconds)
{
    json_key(writer, key);
    json_double(writer, (double)((nanoseconds + 500) / 1000) / 1000);
}

static void write_count(struct json_writer *writer, const char *key, uint64_t count)
{
    json_number_member(writer, key, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

void record_write_members(struct json_writer *writer, const struct record *record)
{
    const struct run_result *result = record->result;
    json_text_member(writer, "outcome", run_outcome_name(result->outcome));
    json_key(writer, "exit_code");
    if (result->outcome == OUTCOME_EXITED)
        json_number(writer, result->exit_code);
    else
        json_null(writer);
    json_text_member(writer, "signal",
                     result->outcome == OUTCOME_SIGNALED ? signal_name(result->signal) : NULL);
    write_count(writer, "stdout_bytes", result->out.total);
    write_count(writer, "stderr_bytes", result->err.total);
    write_count(writer, "stdout_cut", record->stdout_cut);
    write_count(writer, "stderr_cut", record->stderr_cut);
    write_milliseconds(writer, "duration_ms", result->duration_ns);
    write_milliseconds(writer, "cpu_ms", result->cpu_ns);
    json_key(writer, "peak_memory_bytes");
    if (result->peak_memory_bytes > 0)
        json_number(writer, result->peak_memory_bytes);
    else
        json_null(writer);
    json_text_member(writer, "isolation", result->isolation);
    json_text_member(writer, "limits", result->limits);
    json_text_member(writer, "image", record->image);
    json_key(writer, "files");
    json_begin_array(writer);
    json_end_array(writer);
}
