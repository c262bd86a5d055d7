#include "interpreter/result/result_json.h"
#include "interpreter/checker.h"
#include "interpreter/folders/changes_text.h"
#include "interpreter/network_text.h"
#include "interpreter/rules/findings_text.h"
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

enum member_null { SET, OR_NULL };
enum member_unit { AS_IT_IS, IN_MILLISECONDS };

static void write_milliseconds(struct json_writer *writer, int64_t nanoseconds)
{
    json_double(writer, (double)((nanoseconds + 500) / 1000) / 1000);
}

static void write_number(struct json_writer *writer, int64_t number, enum member_unit unit,
                         enum member_null null)
{
    if (null == OR_NULL && number <= 0)
        json_null(writer);
    else if (unit == IN_MILLISECONDS)
        write_milliseconds(writer, number);
    else
        json_number(writer, number);
}

static void write_count(struct json_writer *writer, uint64_t count)
{
    json_number(writer, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

static void write_exit_code(struct json_writer *writer, const struct record *record)
{
    if (record->result->outcome == OUTCOME_EXITED)
        json_number(writer, record->result->exit_code);
    else
        json_null(writer);
}

static void write_signal(struct json_writer *writer, const struct record *record)
{
    if (record->result->outcome == OUTCOME_SIGNALED)
        json_text(writer, signal_name(record->result->signal));
    else
        json_null(writer);
}

static void write_stdout_bytes(struct json_writer *writer, const struct record *record)
{
    write_count(writer, record->result->out.total);
}

static void write_stderr_bytes(struct json_writer *writer, const struct record *record)
{
    write_count(writer, record->result->err.total);
}

static void write_stdout_cut(struct json_writer *writer, const struct record *record)
{
    write_count(writer, record->stdout_cut);
}

static void write_stderr_cut(struct json_writer *writer, const struct record *record)
{
    write_count(writer, record->stderr_cut);
}

static void write_value_bytes(struct json_writer *writer, const struct record *record)
{
    write_number(writer, record->result->value_bytes, AS_IT_IS, OR_NULL);
}

static void write_isolation(struct json_writer *writer, const struct record *record)
{
    json_text(writer, record->result->isolation);
}

static void write_limits(struct json_writer *writer, const struct record *record)
{
    json_text(writer, enforcement_tier(&record->result->enforced));
}

void result_json_write_enforcement(struct json_writer *writer, const struct enforcement *enforced)
{
    json_text_member(writer, "memory", enforced_by_name(enforced->memory));
    json_text_member(writer, "processes", enforced_by_name(enforced->processes));
    json_text_member(writer, "cpu", enforced_by_name(enforced->cpu));
}

static void write_enforced(struct json_writer *writer, const struct record *record)
{
    json_begin_object(writer);
    result_json_write_enforcement(writer, &record->result->enforced);
    json_end_object(writer);
}

static void write_limits_reached(struct json_writer *writer, const struct record *record)
{
    json_begin_array(writer);
    for (unsigned i = 0; i < LIMIT_COUNT; i++) {
        if (record->result->limits_reached & 1U << i)
            json_text(writer, outcome_limit_name((enum limit_index)i));
    }
    json_end_array(writer);
}

static void write_image(struct json_writer *writer, const struct record *record)
{
    json_text(writer, record->image);
}

static void write_files(struct json_writer *writer, const struct record *record)
{
    result_files_write(writer, record->files);
}

static void write_figures(struct json_writer *writer, const struct record *record)
{
    const struct result_files *files = record->files;
    if (files != NULL && files->is_lost)
        json_null(writer);
    else
        json_number(writer, files != NULL ? (int64_t)files->figures : 0);
}

static void write_changes(struct json_writer *writer, const struct record *record)
{
    changes_text_write(writer, record->patches, record->files != NULL ? record->files->call : 0);
}

static void write_network(struct json_writer *writer, const struct record *record)
{
    network_text_write(writer, record->network, record->result->network);
}

static void write_checkpoint(struct json_writer *writer, const struct run_checkpoint *checkpoint)
{
    json_key(writer, "checkpoint");
    if (checkpoint->number > 0)
        json_number(writer, checkpoint->number);
    else
        json_null(writer);
    if (checkpoint->hindrance != HINDRANCE_NONE)
        json_text_member(writer, "no_checkpoint", checkpoint_hindrance_text(checkpoint->hindrance));
    if (checkpoint->restored_to > 0)
        json_number_member(writer, "restored_to", checkpoint->restored_to);
    if (checkpoint->went_back == 0)
        return;
    json_number_member(writer, "went_back_to", checkpoint->went_back);
    json_boolean_member(writer, "files_back", checkpoint->files == FILES_BACK);
}

static void write_session(struct json_writer *writer, const struct record *record)
{
    const struct session_view *session = record->session;
    if (session == NULL) {
        json_null(writer);
        return;
    }
    json_begin_object(writer);
    json_text_member(writer, "id", session->handle);
    json_text_member(writer, "state", session->is_kept ? "kept" : "lost");
    if (!session->is_kept)
        json_text_member(writer, "reason", session->reason);
    json_key(writer, "calls");
    write_count(writer, session->calls);
    json_key(writer, "idle_seconds");
    json_double(writer, (double)session->idle_ms / 1000);
    write_checkpoint(writer, &session->checkpoint);
    json_end_object(writer);
}

static void write_call(struct json_writer *writer, const struct run_call *call)
{
    json_begin_object(writer);
    json_text_member(writer, "name", call->name);
    json_key(writer, "ms");
    write_milliseconds(writer, call->duration_ns);
    json_key(writer, "request_bytes");
    write_count(writer, call->request_bytes);
    json_key(writer, "result_bytes");
    write_count(writer, call->result_bytes);
    json_text_member(writer, "outcome", call->outcome);
    json_end_object(writer);
}

static void write_calls(struct json_writer *writer, const struct record *record)
{
    const struct run_calls *calls = record->result->calls;
    if (calls == NULL) {
        json_null(writer);
        return;
    }
    json_begin_array(writer);
    for (size_t i = 0; i < calls->count; i++)
        write_call(writer, &calls->list[i]);
    json_end_array(writer);
}

static void write_more_calls(struct json_writer *writer, const struct record *record)
{
    const struct run_calls *calls = record->result->calls;
    if (calls == NULL)
        json_null(writer);
    else
        write_count(writer, calls->more);
}

static void write_phase(struct json_writer *writer, const struct record *record)
{
    if (record->result->compile == NULL)
        json_null(writer);
    else
        json_text(writer, record->result->outcome == OUTCOME_COMPILE_FAILED ? "compile" : "run");
}

/* The beginning of what a compiler printed. */
static void write_excerpt(struct json_writer *writer, const char *key,
                          const struct capture *capture)
{
    size_t length =
        capture->head.length < COMPILE_TEXT_MAX ? capture->head.length : COMPILE_TEXT_MAX;
    json_key(writer, key);
    json_string(writer, length > 0 ? capture->head.data : "", length);
}

static void write_compile(struct json_writer *writer, const struct record *record)
{
    const struct run_compile *compile = record->result->compile;
    if (compile == NULL) {
        json_null(writer);
        return;
    }
    bool has_failed = record->result->outcome == OUTCOME_COMPILE_FAILED;
    json_begin_object(writer);
    json_text_member(writer, "outcome", outcome_name(compile->outcome));
    json_key(writer, "exit_code");
    if (compile->outcome == OUTCOME_EXITED)
        json_number(writer, compile->exit_code);
    else
        json_null(writer);
    json_text_member(writer, "signal", compile->signal != 0 ? signal_name(compile->signal) : NULL);
    json_key(writer, "ms");
    write_milliseconds(writer, compile->duration_ns);
    json_boolean_member(writer, "kept", compile->was_kept);
    write_excerpt(writer, "stdout", has_failed ? &record->result->out : &compile->out);
    write_excerpt(writer, "stderr", has_failed ? &record->result->err : &compile->err);
    json_end_object(writer);
}

void result_json_write_compile(struct json_writer *writer, const struct run_result *result)
{
    const struct record record = {.result = result};
    json_key(writer, "phase");
    write_phase(writer, &record);
    json_key(writer, "compile");
    write_compile(writer, &record);
}

void result_json_write_milliseconds(struct json_writer *writer, const char *key,
                                    int64_t nanoseconds)
{
    json_key(writer, key);
    write_milliseconds(writer, nanoseconds);
}

void result_json_write_check(struct json_writer *writer, const struct check *check)
{
    if (check == NULL) {
        json_null(writer);
        return;
    }
    json_begin_object(writer);
    json_key(writer, "findings");
    findings_text_write(writer, &check->findings);
    json_text_member(writer, "unchecked", check->findings.unchecked);
    json_key(writer, "ms");
    write_milliseconds(writer, check->duration_ns);
    json_end_object(writer);
}

static void write_policy(struct json_writer *writer, const struct record *record)
{
    result_json_write_check(writer, record->check);
}

void result_json_write_members(struct json_writer *writer, const struct record *record)
{
    const struct run_result *result = record->result;
#define NUMBER(name, member, unit, most, null, type, description)                                  \
    json_key(writer, #name);                                                                       \
    write_number(writer, result->member, unit, null);
#define CHOICE(name, type, name_of, count, description)                                            \
    json_text_member(writer, #name, name_of(result->name));
#define OTHER(name, null, type, items, description)                                                \
    json_key(writer, #name);                                                                       \
    write_##name(writer, record);
#include "interpreter/base/result.def"
}

static const char outcome_description[] =
#define OUTCOME(id, name, ...) name ", "
#include "sandbox/limits/outcomes.def"
#undef OUTCOME
    "by how it ended";

static const char limits_description[] = "Limits it reached: "
#define LIMIT(id, name, ...) name ", "
#include "sandbox/limits/limits.def"
#undef LIMIT
                                         "or none";

struct schema_member {
    const char *name, *type, *description;
    enum member_null null;
    const char *items;
};

static const struct schema_member schema_members[] = {
#define OUTPUT(name, description) {#name, "string", description, SET, NULL},
#define NUMBER(name, member, unit, most, null, type, description)                                  \
    {#name, type, description, null, NULL},
#define CHOICE(name, type, name_of, count, description) {#name, "string", description, SET, NULL},
#define OTHER(name, null, type, items, description) {#name, type, description, null, items},
#include "interpreter/base/result.def"
};

static void write_schema_member(struct json_writer *writer, const struct schema_member *member)
{
    json_key(writer, member->name);
    json_begin_object(writer);
    json_key(writer, "type");
    if (member->null == OR_NULL)
        json_begin_array(writer);
    json_text(writer, member->type);
    if (member->null == OR_NULL) {
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

void result_json_write_schema(struct json_writer *writer)
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
