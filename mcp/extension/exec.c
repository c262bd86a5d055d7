#include "mcp/extension/exec.h"

#include "interpreter/base/bounds.h"
#include "interpreter/network_text.h"
#include "interpreter/settings/mounts_text.h"
#include "mcp/extension/exec_output.h"
#include "mcp/extension/exec_words.h"
#include "mcp/extension/session_request.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#define WARNINGS_MAX (64 * KIBIBYTE)
#define HELD_MS 2 /* between two looks at whether the client has read */

/* A request that is answered when its command has ended. */
struct exec {
    struct session_request request;
    struct session_command *command; /* NULL: it has ended */
    uint16_t port; /* above 0: it is a connection */
    bool is_streamed;
    struct exec_stream streams[2]; /* by enum output_stream */
    struct loop_timer held; /* armed while the client has much to read */
    struct exec_input *inputs; /* requests that are answered when what they sent has been read */
};

/* A request code-sandbox/stdin, until its bytes have been read. */
struct exec_input {
    struct exec_input *previous, *next;
    struct open_request open;
    struct context *context;
    struct reply reply;
    struct exec *exec;
};

static void input_free(struct exec_input *input)
{
    LIST_REMOVE(input->exec->inputs, input);
    open_requests_remove(&input->context->requests, &input->open);
    free(input);
}

static void write_open(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const bool *is_open = data;
    json_boolean_member(writer, "open", *is_open);
}

static void inputs_answer(struct exec *exec, bool is_open)
{
    while (exec->inputs != NULL) {
        const struct reply reply = exec->inputs->reply;
        input_free(exec->inputs);
        reply_result(&reply, &(struct result_body){.write = write_open, .data = &is_open});
    }
}

static void exec_free(struct exec *exec)
{
    if (exec->held.armed)
        loop_disarm(&exec->request.context->loop, &exec->held);
    free(exec);
}

/* What a result tells. */
struct ended {
    const struct exec *exec;
    const struct command_result *result;
    const struct session_end *session; /* NULL: it is kept */
};

static void write_milliseconds(struct json_writer *writer, const char *name, int64_t nanoseconds)
{
    json_key(writer, name);
    json_double(writer, (double)((nanoseconds + 500) / 1000) / 1000);
}

static void write_end(struct json_writer *writer, const struct command_result *result)
{
    bool has_exited = result->outcome == OUTCOME_EXITED;
    bool was_killed = result->outcome == OUTCOME_SIGNALED;
    json_text_member(writer, "outcome", outcome_name(result->outcome));
    json_key(writer, "exit_code");
    if (has_exited)
        json_number(writer, result->exit_code);
    else
        json_null(writer);
    json_text_member(writer, "signal", was_killed ? signal_name(result->signal) : NULL);
}

static void write_output(struct json_writer *writer, const struct ended *ended)
{
    const struct command_result *result = ended->result;
    bool is_whole = true;
    if (!ended->exec->is_streamed) {
        is_whole &= exec_output_write_capture(writer, "stdout", &result->out);
        is_whole &= exec_output_write_capture(writer, "stderr", &result->err);
    }
    json_boolean_member(writer, "truncated", !is_whole);
    json_number_member(writer, "stdout_bytes", (int64_t)result->out.total);
    json_number_member(writer, "stderr_bytes", (int64_t)result->err.total);
}

static void write_warnings(struct json_writer *writer, const struct command_result *result)
{
    OWNED(buffer_release) struct buffer text = BUFFER(WARNINGS_MAX);
    if (mounts_warn(&result->appeared, "this command", &text) < 0 || text.length == 0)
        return;
    json_key(writer, "warnings");
    json_begin_array(writer);
    json_string(writer, text.data, text.length);
    json_end_array(writer);
}

static void write_session(struct json_writer *writer, const struct ended *ended)
{
    json_key(writer, "session");
    json_begin_object(writer);
    json_text_member(writer, "id", ended->exec->request.handle);
    json_text_member(writer, "state", ended->result->is_session_lost ? "lost" : "kept");
    if (ended->session != NULL)
        json_text_member(writer, "reason", ended->session->reason);
    json_end_object(writer);
}

static void write_result(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct ended *ended = data;
    const struct command_result *result = ended->result;
    write_end(writer, result);
    write_output(writer, ended);
    write_milliseconds(writer, "queued_ms", result->queued_ns);
    write_milliseconds(writer, "duration_ms", result->duration_ns);
    write_milliseconds(writer, "cpu_ms", result->cpu_ns);
    json_key(writer, "peak_memory_bytes");
    if (result->peak_memory_bytes > 0)
        json_number(writer, result->peak_memory_bytes);
    else
        json_null(writer);
    json_key(writer, "network");
    network_text_write(writer, &ended->exec->request.context->settings->network, result->network);
    write_warnings(writer, result);
    write_session(writer, ended);
}

static void tell_rest(struct exec *exec)
{
    for (int stream = OUTPUT_STDOUT; stream <= OUTPUT_STDERR; stream++) {
        const struct exec_piece nothing = {exec->request.open.answer, (enum output_stream)stream,
                                           "", 0};
        exec_output_tell(&exec->streams[stream], &nothing, true);
    }
}

static int explain_connection(uint16_t port, int error, struct fault *fault)
{
    switch (error) {
    case ECONNREFUSED:
        fault_identify(fault, "connection_refused");
        return fault_set(fault, error, "nothing listens at port %u of the session", port);
    case ECONNRESET:
        fault_identify(fault, "connection_reset");
        return fault_set(fault, error,
                         "the server at port %u of the session ended the connection by a reset, as "
                         "one that crashes does: what it sent may be incomplete",
                         port);
    default:
        fault_identify(fault, "connect_failed");
        return fault_set(fault, error, "cannot connect to port %u of the session: %m", port);
    }
}

static void refuse_connection(const struct exec *exec, int error)
{
    struct fault fault = {0};
    int r = explain_connection(exec->port, error, &fault);
    session_request_refuse(&exec->request.reply, r, &fault);
}

/* Connections are none. */
static void count_end(const struct exec *exec, const struct command_result *result)
{
    struct metrics_file *metrics = &exec->request.context->metrics;
    if (exec->port == 0 && result != NULL)
        metrics_file_count_command(metrics, result);
    else if (exec->port == 0)
        metrics_file_count_command_not_run(metrics, NOT_RUN_FAILED);
}

static void command_done(void *data, int status, struct command_result *result,
                         const struct fault *fault)
{
    struct exec *exec = data;
    struct session_request *request = &exec->request;
    exec->command = NULL;
    count_end(exec, result);
    inputs_answer(exec, false);
    session_request_log(request, result != NULL ? outcome_name(result->outcome) : "failed");
    if (exec->is_streamed)
        tell_rest(exec);
    session_request_end(request);
    if (result == NULL) {
        session_request_refuse(&request->reply, status, fault);
    } else if (exec->port > 0 && result->outcome == OUTCOME_EXITED && result->exit_code > 0) {
        refuse_connection(exec, result->exit_code);
    } else {
        const struct ended ended = {
            exec, result,
            session_table_find_end(&request->context->sessions, request->owner, request->handle)};
        reply_result(&request->reply, &(struct result_body){.write = write_result, .data = &ended});
    }
    exec_free(exec);
}

static bool has_much_to_read(const struct exec *exec)
{
    const struct client *client = client_of(exec->request.open.answer);
    return client->unsent(client) > EXEC_UNSENT_MAX;
}

static bool command_printed(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    struct exec *exec = data;
    if (!exec->is_streamed)
        return true;
    const struct exec_piece piece = {exec->request.open.answer, stream, bytes, length};
    exec_output_tell(&exec->streams[stream], &piece, false);
    bool is_held = has_much_to_read(exec);
    if (is_held)
        loop_arm(&exec->request.context->loop, &exec->held,
                 clock_now() + HELD_MS * NANOSECONDS_PER_MILLISECOND);
    return !is_held;
}

static void look_again(struct loop_timer *timer)
{
    struct exec *exec = container_of(timer, struct exec, held);
    if (exec->command == NULL)
        return;
    if (has_much_to_read(exec))
        loop_arm(&exec->request.context->loop, timer,
                 clock_now() + HELD_MS * NANOSECONDS_PER_MILLISECOND);
    else
        command_go_on(exec->command);
}

static void command_took_stdin(void *data, bool is_open)
{
    inputs_answer(data, is_open);
}

static void cancel(struct open_request *open)
{
    struct exec *exec = container_of(open, struct exec, request.open);
    command_cancel(exec->command);
    if (exec->port == 0)
        metrics_file_count_command_not_run(&exec->request.context->metrics, NOT_RUN_CANCELLED);
    inputs_answer(exec, false);
    session_request_log(&exec->request, "cancelled");
    session_request_end(&exec->request);
    rpc_answer_drop(open->answer);
    exec_free(exec);
}

/* Nobody can send it anything more. What it is connected to may not heed that. */
static void conclude(struct open_request *open)
{
    struct exec *exec = container_of(open, struct exec, request.open);
    open->conclude = NULL;
    command_write_stdin(exec->command, "", 0, true);
    if (exec->port > 0)
        command_limit(exec->command, exec->request.context->settings->limits.wall_ms);
}

/* From there on, the next command of the session; or NULL. */
static struct exec *next_exec(struct open_request *open, const struct session_entry *entry)
{
    for (; open != NULL; open = open->next) {
        struct exec *exec =
            open->cancel == cancel ? container_of(open, struct exec, request.open) : NULL;
        if (exec != NULL && exec->request.owner == entry->owner &&
            strcmp(exec->request.handle, entry->handle) == 0)
            return exec;
    }
    return NULL;
}

static struct exec *find_exec(const struct context *context, const struct session_entry *entry,
                              const struct json_value *id)
{
    struct exec *exec = next_exec(context->requests.first, entry);
    while (exec != NULL && !rpc_answer_has_id(exec->request.open.answer, id))
        exec = next_exec(exec->request.open.next, entry);
    return exec;
}

static bool is_taken(const struct context *context, const struct session_entry *entry,
                     const struct rpc_answer *answer)
{
    struct exec *exec = next_exec(context->requests.first, entry);
    while (exec != NULL && !rpc_answer_shares_id(exec->request.open.answer, answer))
        exec = next_exec(exec->request.open.next, entry);
    return exec != NULL;
}

static int start(struct context *context, struct exec_words *words, const struct reply *reply,
                 struct fault *fault)
{
    unsigned owner = rpc_answer_rpc(reply->answer)->owner;
    struct session_entry *entry = session_request_find(context, owner, words->session, fault);
    if (entry == NULL)
        return -ENOENT;
    if (words->is_streamed && client_of(reply->answer)->is_deaf)
        return fault_set(fault, EINVAL,
                         "what is printed or received comes as notifications: the client has to "
                         "accept text/event-stream");
    if (is_taken(context, entry, reply->answer)) {
        fault_identify(fault, "busy");
        return fault_set(fault, EBUSY,
                         "a command of this session has the id of this request: choose another");
    }
    int r = exec_words_complete(words, &context->settings->environment, &entry->live, fault);
    if (r < 0)
        return r;
    struct exec *exec = calloc(1, sizeof(*exec));
    if (exec == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a command");
    exec->is_streamed = words->is_streamed;
    exec->port = words->spec.port;
    exec->held.fire = look_again;
    exec->request.method = exec->port > 0 ? "connect" : "exec";
    const struct command_observer observer = {.done = command_done,
                                              .output = command_printed,
                                              .stdin_taken = command_took_stdin,
                                              .data = exec};
    r = session_exec(entry->live.session, &words->spec, &observer, &exec->command, fault);
    if (r < 0) {
        free(exec);
        return r;
    }
    session_request_begin(&exec->request, context, reply, entry, cancel);
    exec->request.open.conclude = conclude;
    return 0;
}

void exec_answer(struct context *context, const struct rpc_message *message,
                 const struct reply *reply)
{
    OWNED(exec_words_release) struct exec_words words;
    struct fault fault = {0};
    int r = exec_words_read(&words, context->settings, message->params, &fault);
    if (r == 0)
        r = start(context, &words, reply, &fault);
    if (r == 0)
        return;
    metrics_file_count_command_not_run(&context->metrics, NOT_RUN_REFUSED);
    session_request_refuse(reply, r, &fault);
}

void exec_connect_answer(struct context *context, const struct rpc_message *message,
                         const struct reply *reply)
{
    OWNED(exec_words_release) struct exec_words words;
    struct fault fault = {0};
    int r = exec_words_read_port(&words, message->params, &fault);
    if (r == 0)
        r = start(context, &words, reply, &fault);
    if (r < 0)
        session_request_refuse(reply, r, &fault);
}

enum { COMMAND_SESSION, COMMAND_ID, COMMAND_ROWS };
#define ROWS_OF_COMMAND                                                                            \
    [COMMAND_SESSION] = {"session", PARAMETER_TEXT, true}, [COMMAND_ID] = {"command",              \
                                                                           PARAMETER_ANY, true}

/* The command that a request names; or NULL with a fault. */
static struct exec *read_exec(const struct context *context, const struct json_value *const *values,
                              const struct reply *reply, struct fault *fault)
{
    unsigned owner = rpc_answer_rpc(reply->answer)->owner;
    struct session_entry *entry =
        session_request_find(context, owner, values[COMMAND_SESSION]->text, fault);
    struct exec *exec = entry != NULL ? find_exec(context, entry, values[COMMAND_ID]) : NULL;
    if (entry != NULL && exec == NULL) {
        fault_identify(fault, "no_command");
        fault_set(fault, ESRCH,
                  "no command of this session has that id, the id of its exec request: it may have "
                  "ended");
    }
    return exec;
}

static void cancel_input(struct open_request *open)
{
    struct exec_input *input = container_of(open, struct exec_input, open);
    rpc_answer_drop(open->answer);
    input_free(input);
}

static int explain_input(int r, struct fault *fault)
{
    if (r == -EPIPE) {
        fault_identify(fault, "closed");
        return fault_set(fault, EPIPE,
                         "the command takes nothing more from its stdin: it is closed, which it is "
                         "from the start without \"stdin_open\"");
    }
    if (r == -EAGAIN) {
        fault_identify(fault, "busy");
        return fault_set(fault, EAGAIN,
                         "the command has not read what was sent before: wait for the answer to "
                         "that");
    }
    return r < 0 ? fault_set(fault, -r, "sending to the stdin of a command: %m") : 0;
}

/* The answer comes when the bytes have been read: a client that waits for it never has to try again. */
static int send_input(struct context *context, struct exec *exec, const struct parameter_data *data,
                      bool is_last, const struct reply *reply, struct fault *fault)
{
    struct exec_input *input = calloc(1, sizeof(*input));
    if (input == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the stdin of a command");
    *input = (struct exec_input){
        .open = {.answer = reply->answer, .cancel = cancel_input},
        .context = context,
        .reply = *reply,
        .exec = exec,
    };
    LIST_APPEND(exec->inputs, input);
    open_requests_add(&context->requests, &input->open);
    int r = command_write_stdin(exec->command, data->bytes, data->length, is_last);
    if (r < 0)
        input_free(input);
    return explain_input(r, fault);
}

enum { STDIN_DATA = COMMAND_ROWS, STDIN_DATA_BASE64, STDIN_EOF, STDIN_ROWS };
static const struct parameter stdin_rows[STDIN_ROWS] = {
    ROWS_OF_COMMAND,
    [STDIN_DATA] = {"data", PARAMETER_DATA, false},
    [STDIN_DATA_BASE64] = {"data_base64", PARAMETER_BASE64, false},
    [STDIN_EOF] = {"eof", PARAMETER_SWITCH, false},
};

static int take_input(struct context *context, const struct rpc_message *message,
                      const struct reply *reply, struct fault *fault)
{
    const struct json_value *values[STDIN_ROWS];
    OWNED(parameter_data_release) struct parameter_data data = {0};
    int r = parameters_read(message->params, stdin_rows, STDIN_ROWS, values, fault);
    if (r == 0)
        r = parameters_data(&stdin_rows[STDIN_DATA], &values[STDIN_DATA], EXEC_STDIN_MAX, &data,
                            fault);
    struct exec *exec = r == 0 ? read_exec(context, values, reply, fault) : NULL;
    if (exec == NULL)
        return r < 0 ? r : -ESRCH;
    return send_input(context, exec, &data, parameters_switch(values[STDIN_EOF]), reply, fault);
}

void exec_stdin_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply)
{
    struct fault fault = {0};
    int r = take_input(context, message, reply, &fault);
    if (r < 0)
        session_request_refuse(reply, r, &fault);
}

enum { KILL_SIGNAL = COMMAND_ROWS, KILL_ROWS };
static const struct parameter kill_rows[KILL_ROWS] = {
    ROWS_OF_COMMAND,
    [KILL_SIGNAL] = {"signal", PARAMETER_TEXT, false},
};

static int kill_command(const struct context *context, const struct rpc_message *message,
                        const struct reply *reply, struct fault *fault)
{
    const struct json_value *values[KILL_ROWS];
    int r = parameters_read(message->params, kill_rows, KILL_ROWS, values, fault);
    if (r < 0)
        return r;
    const char *name = values[KILL_SIGNAL] != NULL ? values[KILL_SIGNAL]->text : "SIGTERM";
    int signal_number = signal_find(name);
    if (signal_number == 0) {
        fault_identify(fault, "invalid_parameter");
        return fault_set(fault, EINVAL,
                         "the parameter \"signal\" must be the name of a signal, such as SIGINT");
    }
    const struct exec *exec = read_exec(context, values, reply, fault);
    if (exec == NULL)
        return -ESRCH;
    r = command_signal(exec->command, signal_number);
    if (r == -ESRCH) {
        fault_identify(fault, "busy");
        return fault_set(fault, ESRCH, "the command has not begun: cancel its request instead");
    }
    return r < 0 ? fault_set(fault, -r, "sending a signal to a command: %m") : 0;
}

void exec_kill_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply)
{
    struct fault fault = {0};
    int r = kill_command(context, message, reply, &fault);
    if (r < 0)
        session_request_refuse(reply, r, &fault);
    else
        reply_nothing(reply);
}
