/* Commands that end without having run: they print what came by their stdin. */
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "tests/fuzz/fake-launcher.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

struct session_command {
    struct session_command *previous, *next;
    struct session *session;
    struct command_observer observer;
    struct loop_timer end;
    struct buffer input; /* owned */
    bool is_open;
    int signal;
};

static void command_free(struct session_command *command)
{
    LIST_REMOVE(command->session->commands, command);
    if (command->end.armed)
        loop_disarm(command->session->launcher->loop, &command->end);
    buffer_release(&command->input);
    free(command);
}

static void end(struct session_command *command, bool is_lost)
{
    struct command_result result = {
        .outcome = is_lost               ? OUTCOME_CANCELLED
                   : command->signal > 0 ? OUTCOME_SIGNALED
                                         : OUTCOME_EXITED,
        .exit_code = command->signal > 0 || is_lost ? -1 : (int)command->input.length % 256,
        .signal = command->signal,
        .is_session_lost = is_lost,
    };
    const struct command_observer observer = command->observer;
    const struct buffer *input = &command->input;
    capture_open(&result.out, RUN_OUTPUT_KEPT_DEFAULT);
    capture_open(&result.err, RUN_OUTPUT_KEPT_DEFAULT);
    FUZZ_CHECK(capture_add(&result.out, input->data, input->length) == 0);
    if (input->length > 0)
        observer.output(observer.data, OUTPUT_STDOUT, input->data, input->length);
    command_free(command);
    observer.done(observer.data, 0, &result, NULL);
    capture_release(&result.out);
    capture_release(&result.err);
}

static void on_end(struct loop_timer *timer)
{
    end(container_of(timer, struct session_command, end), false);
}

void fake_commands_lose(struct session *session)
{
    while (session->commands != NULL)
        end(session->commands, true);
}

void fake_commands_forget(struct session *session)
{
    while (session->commands != NULL)
        command_free(session->commands);
}

int session_exec(struct session *session, const struct command_spec *spec,
                 const struct command_observer *observer, struct session_command **ret_command,
                 struct fault *fault)
{
    bool is_connection = spec->port > 0;
    FUZZ_CHECK(spec->wall_ms > 0 && observer->done != NULL);
    FUZZ_CHECK(is_connection || spec->argv[0] != NULL);
    FUZZ_CHECK(is_connection || spec->wall_ms <= session->launcher->settings->wall_max_ms);
    FUZZ_CHECK(spec->stdin_length <= COMMAND_STDIN_MAX);
    for (const char *const *word = spec->environment; word != NULL && *word != NULL; word++)
        FUZZ_CHECK(strchr(*word, '=') != NULL);
    if (!is_connection && spec->argv[0][0] == FAKE_REFUSED)
        return fault_set(fault, EAGAIN, "refused: %m");
    struct session_command *command = calloc(1, sizeof(*command));
    FUZZ_CHECK(command != NULL);
    *command = (struct session_command){
        .session = session,
        .observer = *observer,
        .end = {.fire = on_end},
        .input = BUFFER(COMMAND_STDIN_MAX),
        .is_open = spec->keeps_stdin_open,
    };
    FUZZ_CHECK(buffer_append(&command->input, spec->stdin_bytes, spec->stdin_length) == 0);
    LIST_PREPEND(session->commands, command);
    if (session->launcher->loop != NULL)
        loop_arm(session->launcher->loop, &command->end, clock_now());
    *ret_command = command;
    return 0;
}

void command_go_on(struct session_command *command)
{
    FUZZ_CHECK(command->session != NULL);
}

int command_write_stdin(struct session_command *command, const char *bytes, size_t length,
                        bool is_last)
{
    if (!command->is_open)
        return -EPIPE;
    if (buffer_append(&command->input, bytes, length) < 0)
        return -EAGAIN;
    command->is_open = !is_last;
    command->observer.stdin_taken(command->observer.data, command->is_open);
    return 0;
}

int command_signal(struct session_command *command, int signal_number)
{
    FUZZ_CHECK(signal_number > 0 && signal_number <= 64);
    command->signal = signal_number;
    return 0;
}

void command_limit(struct session_command *command, int64_t wall_ms)
{
    FUZZ_CHECK(command->session != NULL && wall_ms > 0);
}

void command_cancel(struct session_command *command)
{
    command_free(command);
}
