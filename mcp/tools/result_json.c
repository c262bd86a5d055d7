#include "mcp/tools/result_json.h"
#include "mcp/folders/changes_text.h"
#include "mcp/launch/checker.h"
#include "mcp/network/network_text.h"
#include "mcp/rules/findings_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"

bool result_json_is_success(const struct run_result *result)
{
    return result->outcome == OUTCOME_EXITED && result->exit_code == 0;
}

int result_json_exit_status(const struct run_result *result)
{
    int exit_code = result->outcome == OUTCOME_EXITED ? result->exit_code : 0;
    return outcome_exit_status(result->outcome) + exit_code + result->signal;
}

/* Head, what was cut, tail. */
static int join_capture(const struct capture *capture, struct buffer *text)
{
    int r = buffer_append(text, capture->head.data, capture->head.length);
    if (r == 0 && capture->cut > 0)
        r = buffer_format(text, "\n[... %llu bytes not kept ...]\n",
                          (unsigned long long)capture->cut);
    return r < 0 ? r : buffer_append(text, capture->tail.data, capture->tail.length);
}

static void write_capture(struct json_writer *writer, const char *key,
                          const struct capture *capture)
{
    OWNED(buffer_release)
    struct buffer text = BUFFER(RESULT_JSON_MAX(capture->head.length + capture->tail.length));
    int r = join_capture(capture, &text);
    json_key(writer, key);
    if (r == 0)
        json_string(writer, text.data, text.length);
    else
        json_null(writer);
}

void result_json_write_output(struct json_writer *writer, const struct run_result *result)
{
    write_capture(writer, "stdout", &result->out);
    write_capture(writer, "stderr", &result->err);
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

/* null where nothing was counted. */
static void write_if_known(struct json_writer *writer, const char *key, int64_t count)
{
    json_key(writer, key);
    if (count > 0)
        json_number(writer, count);
    else
        json_null(writer);
}

void result_json_write_enforcement(struct json_writer *writer, const struct enforcement *enforced)
{
    json_text_member(writer, "memory", enforced_by_name(enforced->memory));
    json_text_member(writer, "processes", enforced_by_name(enforced->processes));
    json_text_member(writer, "cpu", enforced_by_name(enforced->cpu));
}

static void write_limits(struct json_writer *writer, const struct run_result *result)
{
    json_text_member(writer, "limits", enforcement_tier(&result->enforced));
    json_key(writer, "enforced");
    json_begin_object(writer);
    result_json_write_enforcement(writer, &result->enforced);
    json_end_object(writer);
    json_key(writer, "limits_reached");
    json_begin_array(writer);
    for (unsigned i = 0; i < LIMIT_COUNT; i++) {
        if (result->limits_reached & 1U << i)
            json_text(writer, outcome_limit_name((enum limit_index)i));
    }
    json_end_array(writer);
}

static void write_session(struct json_writer *writer, const struct session_view *session)
{
    json_key(writer, "session");
    if (session == NULL) {
        json_null(writer);
        return;
    }
    json_begin_object(writer);
    json_text_member(writer, "id", session->handle);
    json_text_member(writer, "state", session->is_kept ? "kept" : "lost");
    if (!session->is_kept)
        json_text_member(writer, "reason", session->reason);
    write_count(writer, "calls", session->calls);
    json_key(writer, "idle_seconds");
    json_double(writer, (double)session->idle_ms / 1000);
    json_end_object(writer);
}

void result_json_write_check(struct json_writer *writer, const struct check *check)
{
    json_key(writer, "policy");
    if (check == NULL) {
        json_null(writer);
        return;
    }
    json_begin_object(writer);
    json_key(writer, "findings");
    findings_text_write(writer, &check->findings);
    json_text_member(writer, "unchecked", check->findings.unchecked);
    write_milliseconds(writer, "ms", check->duration_ns);
    json_end_object(writer);
}

void result_json_write_members(struct json_writer *writer, const struct record *record)
{
    const struct run_result *result = record->result;
    json_text_member(writer, "outcome", outcome_name(result->outcome));
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
    write_if_known(writer, "peak_memory_bytes", result->peak_memory_bytes);
    write_if_known(writer, "peak_processes", result->peak_processes);
    json_text_member(writer, "isolation", result->isolation);
    json_text_member(writer, "tier", tier_name(result->tier));
    json_text_member(writer, "start", run_start_name(result->start));
    write_limits(writer, result);
    json_text_member(writer, "image", record->image);
    result_files_write_members(writer, record->files);
    changes_text_write_member(writer, record->patches,
                              record->files != NULL ? record->files->call : 0);
    network_text_write_member(writer, record->network, result->network);
    write_session(writer, record->session);
    result_json_write_check(writer, record->check);
}

void result_json_write_fault(struct json_writer *writer, const struct fault *fault)
{
    json_begin_object(writer);
    json_key(writer, "id");
    if (fault->id != NULL)
        json_text(writer, fault->id);
    else
        json_null(writer);
    json_text_member(writer, "message", fault->text);
    json_end_object(writer);
}
