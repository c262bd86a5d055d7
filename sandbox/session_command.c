#include "sandbox/session_command.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/command_input.h"
#include "sandbox/command_result.h"
#include "sandbox/command_set.h"
#include "sandbox/jail/channels.h"
#include "sandbox/jail/child/commands.h"
#include "sandbox/limits/limits.h"
#include "sandbox/program_text.h"
#include "sandbox/session_file_state.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#define READ_SIZE 65536

_Static_assert(COMMANDS_MAX + FILES_AT_ONCE + STREAMS_MAX == JAIL_COMMANDS_MAX,
               "init has room for all");

enum command_stage {
    COMMAND_WAITING,  /* until processes of its session may run */
    COMMAND_REFUSED, /* stopped while it waited, or it could not be handed over */
    COMMAND_STARTING, /* init was told */
    COMMAND_RUNNING,
};

/* How far its end has been pressed. */
enum command_press { PRESS_NONE, PRESS_INTERRUPTED, PRESS_KILLED };

struct command_output {
    enum output_stream stream;
    int fd; /* owned; -1: it has ended */
    struct loop_watch watch;
    struct capture capture;
};

struct session_command {
    struct command_set *set;
    struct session_command *previous, *next;
    int32_t id;
    enum parent_word
        word; /* WORD_COMMAND; WORD_FILE: a request on files; WORD_STREAM: a connection */
    uint16_t port; /* of that */
    struct session_file *file; /* owned until its observer is called, which frees it */
    enum command_stage stage;
    struct command_observer observer; /* empty: cancelled */
    char *name; /* owned: for messages */
    char *directory; /* owned; or NULL */
    int text_fd; /* owned, while it waits */
    struct command_input in;
    struct command_output out, err;
    bool is_held; /* by its reader */
    bool is_stopped; /* as `stop` */
    enum run_outcome stop;
    enum command_press press;
    struct loop_timer timer; /* of the stage, or of its end */
    struct network_record *network; /* owned; NULL: there is none, or it has not begun */
    int64_t wall_ms;
    int64_t submitted_at, started_at; /* clock_now() */
    int status; /* negative: it failed, as `fault` tells */
    struct fault fault;
};

static void arm(struct session_command *command, int64_t milliseconds)
{
    loop_arm(command->set->loop, &command->timer,
             clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND);
}

static int say(const struct session_command *command, enum parent_word word, int signal_number)
{
    const struct parent_message message = {
        .word = word, .command = command->id, .signal = signal_number};
    return sandbox_send(command->set->sandbox, &message);
}

/* The server cannot serve it any longer: it is killed, and its end told as this fault. */
static void fail(struct session_command *command, int error, const char *what)
{
    if (command->status < 0)
        return;
    fault_identify(&command->fault, "command_failed");
    command->status = fault_set(&command->fault, error, "%s of %s: %m", what, command->name);
    command->press = PRESS_KILLED;
    say(command, WORD_COMMAND_END, SIGKILL);
    arm(command, SETUP_MAX_MS);
}

/* Output. */

static void close_output(struct session_command *command, struct command_output *output)
{
    loop_unwatch(command->set->loop, &output->watch);
    fd_close(&output->fd);
}

/* One that its reader holds, or that has printed too much, is not read. */
static void watch_outputs(struct session_command *command)
{
    struct command_output *const outputs[] = {&command->out, &command->err};
    bool is_read =
        !command->is_held && !(command->is_stopped && command->stop == OUTCOME_OUTPUT_LIMIT);
    for (size_t i = 0; i < ARRAY_LENGTH(outputs); i++) {
        struct command_output *output = outputs[i];
        if (output->fd < 0)
            continue;
        int r = 0;
        if (is_read)
            r = loop_watch(command->set->loop, &output->watch, output->fd, EPOLLIN);
        else
            loop_unwatch(command->set->loop, &output->watch);
        if (r < 0)
            fail(command, -r, "cannot watch the output");
    }
}

/* One piece. Its length; 0: the end; negative: nothing there now, or it failed. */
static ssize_t read_output(struct session_command *command, struct command_output *output)
{
    static char bytes[READ_SIZE];
    const struct command_observer *observer = &command->observer;
    ssize_t length = read(output->fd, bytes, sizeof(bytes));
    if (length < 0 && errno != EAGAIN && errno != EINTR)
        fail(command, errno, "cannot read the output");
    if (length <= 0)
        return length;
    capture_add(&output->capture, bytes, (size_t)length);
    if (observer->output != NULL &&
        !observer->output(observer->data, output->stream, bytes, (size_t)length))
        command->is_held = true;
    return length;
}

static void take_output(struct session_command *command, struct command_output *output)
{
    if (read_output(command, output) == 0 || command->status < 0)
        close_output(command, output);
}

/* At most the pipe's capacity, so that a surviving writer cannot keep us here. */
static void drain(struct session_command *command, struct command_output *output)
{
    ssize_t left = output->fd >= 0 ? fcntl(output->fd, F_GETPIPE_SZ) : 0;
    if (left < 0)
        fail(command, errno, "cannot measure the output");
    for (ssize_t length; left > 0 && (length = read_output(command, output)) > 0;)
        left -= length;
    close_output(command, output);
    capture_end(&output->capture);
}

/* Input. */

static void push(struct session_command *command)
{
    int r = command_input_write(&command->in, command->set->loop);
    if (r > 0)
        return;
    if (r < 0)
        fail(command, -r, "cannot write the input");
    if (command->observer.stdin_taken != NULL)
        command->observer.stdin_taken(command->observer.data, command->in.fd >= 0);
}

static void on_stdin(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    push(container_of(watch, struct session_command, in.watch));
}

int command_write_stdin(struct session_command *command, const char *bytes, size_t length,
                        bool is_last)
{
    bool is_open = command->stage < COMMAND_RUNNING || command->in.fd >= 0;
    int r = is_open ? command_input_add(&command->in, bytes, length, is_last) : -EPIPE;
    if (r == 0 && command->stage == COMMAND_RUNNING)
        push(command);
    return r;
}

/* The end. */

static void command_free(struct session_command *command)
{
    loop_disarm(command->set->loop, &command->timer);
    command_input_close(&command->in, command->set->loop);
    close_output(command, &command->out);
    close_output(command, &command->err);
    capture_release(&command->out.capture);
    capture_release(&command->err.capture);
    fd_close(&command->text_fd);
    session_file_free(command->file);
    free(command->network);
    free(command->name);
    free(command->directory);
    free(command);
}

static void command_free_pointer(struct session_command **command)
{
    if (*command != NULL)
        command_free(*command);
}

/* The count of its kind. */
static size_t *count_of(struct command_set *set, enum parent_word word)
{
    return word == WORD_FILE     ? &set->file_count
           : word == WORD_STREAM ? &set->stream_count
                                 : &set->count;
}

/* How many may run at once. */
static size_t most_of(enum parent_word word)
{
    static const size_t most[] = {
        [WORD_COMMAND] = COMMANDS_MAX, [WORD_FILE] = FILES_AT_ONCE, [WORD_STREAM] = STREAMS_MAX};
    return most[word];
}

static void leave_set(struct session_command *command)
{
    LIST_REMOVE(command->set->first, command);
    *count_of(command->set, command->word) -= 1;
}

/* Out of the set, and freed. */
static struct command_observer leave(struct session_command *command)
{
    struct command_set *set = command->set;
    const struct command_observer observer = command->observer;
    if (observer.done != NULL)
        command->file = NULL;
    leave_set(command);
    command_free(command);
    set->ended(set);
    return observer;
}

static int64_t since(int64_t time)
{
    return time > 0 ? clock_now() - time : 0;
}

/* Without a result. */
static void refuse(struct session_command *command, int status, const struct fault *fault)
{
    const struct command_observer observer = leave(command);
    if (observer.done != NULL)
        observer.done(observer.data, status, NULL, fault);
}

static void refuse_for_fault(struct session_command *command)
{
    const struct fault fault = command->fault;
    refuse(command, command->status, &fault);
}

/* What is asked as the session ends is not known. */
static void take_network(struct session_command *command, struct command_result *result)
{
    if (command->network == NULL)
        return;
    if (result->is_session_lost)
        command->network->is_lost = 1;
    else
        command->set->note_network(command->set);
    result->network = pointer_take(&command->network);
}

static void answer(struct session_command *command, struct command_result *result)
{
    bool has_started = command->started_at > 0;
    result->queued_ns = (has_started ? command->started_at : clock_now()) - command->submitted_at;
    result->duration_ns = since(command->started_at);
    drain(command, &command->out);
    drain(command, &command->err);
    if (command->status < 0) {
        refuse_for_fault(command);
        return;
    }
    result->out = command->out.capture;
    result->err = command->err.capture;
    command->out.capture = command->err.capture = (struct capture){0};
    take_network(command, result);
    if (command->word == WORD_COMMAND && command->observer.done != NULL)
        folder_guard_compare(command->set->guard, &result->appeared);
    const struct command_observer observer = leave(command);
    if (observer.done != NULL)
        observer.done(observer.data, 0, result, NULL);
    command_result_release(result);
}

static void on_ended(struct session_command *command, const struct child_report *report)
{
    struct command_result result;
    command_result_read(report, &result);
    if (command->is_stopped)
        command_result_stop(command->stop, &result);
    answer(command, &result);
}

static void interrupt(struct session_command *command)
{
    command->press = PRESS_INTERRUPTED;
    say(command, WORD_COMMAND_END, SIGINT);
    arm(command, INTERRUPT_MAX_MS);
}

/* One that is being started is interrupted when it has. */
static void stop(struct session_command *command, enum run_outcome outcome)
{
    if (command->is_stopped)
        return;
    command->is_stopped = true;
    command->stop = outcome;
    watch_outputs(command);
    if (command->stage == COMMAND_RUNNING) {
        interrupt(command);
    } else if (command->stage == COMMAND_WAITING) {
        command->stage = COMMAND_REFUSED;
        arm(command, 0);
    }
}

static void on_timer(struct loop_timer *timer)
{
    struct session_command *command = container_of(timer, struct session_command, timer);
    if (command->stage == COMMAND_REFUSED && command->is_stopped) {
        struct command_result result = {.outcome = command->stop, .exit_code = -1};
        answer(command, &result);
    } else if (command->stage == COMMAND_REFUSED) {
        refuse_for_fault(command);
    } else if (command->stage == COMMAND_STARTING || command->press == PRESS_KILLED) {
        command->set->broken(command->set,
                             "a session did not answer in time; is this machine very busy?",
                             ETIMEDOUT);
    } else if (command->press == PRESS_NONE) {
        stop(command, OUTCOME_TIMED_OUT);
    } else {
        command->press = PRESS_KILLED;
        say(command, WORD_COMMAND_END, SIGKILL);
        arm(command, SETUP_MAX_MS);
    }
}

static void on_output(struct session_command *command, struct command_output *output)
{
    take_output(command, output);
    if (command->word == WORD_COMMAND &&
        command->out.capture.total + command->err.capture.total > command->set->output_total)
        stop(command, OUTCOME_OUTPUT_LIMIT);
    else if (command->is_held)
        watch_outputs(command);
}

static void on_stdout(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct session_command *command = container_of(watch, struct session_command, out.watch);
    on_output(command, &command->out);
}

static void on_stderr(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct session_command *command = container_of(watch, struct session_command, err.watch);
    on_output(command, &command->err);
}

void command_go_on(struct session_command *command)
{
    command->is_held = false;
    if (command->stage == COMMAND_RUNNING)
        watch_outputs(command);
}

int command_signal(struct session_command *command, int signal_number)
{
    return command->stage == COMMAND_RUNNING ? say(command, WORD_COMMAND_SIGNAL, signal_number)
                                             : -ESRCH;
}

void command_limit(struct session_command *command, int64_t wall_ms)
{
    command->wall_ms = wall_ms;
    if (command->stage == COMMAND_RUNNING && command->press == PRESS_NONE)
        arm(command, wall_ms);
}

void command_stop(struct session_command *command)
{
    stop(command, OUTCOME_CANCELLED);
}

void command_cancel(struct session_command *command)
{
    command->observer = (struct command_observer){0};
    if (command->stage == COMMAND_WAITING)
        refuse(command, -ECANCELED, NULL);
    else
        stop(command, OUTCOME_CANCELLED);
}

/* The beginning. */

static int open_pipes(struct session_command *command, int ret_others[3])
{
    const struct id_map *map = command->set->map;
    int pairs[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int r = 0;
    for (int i = 0; r == 0 && i < 3; i++) {
        int own = i == 0 ? 1 : 0;
        r = channels_make_pipe(pairs[i], own, map);
        ret_others[i] = pairs[i][1 - own];
    }
    command->in.fd = pairs[0][1];
    command->out.fd = pairs[1][0];
    command->err.fd = pairs[2][0];
    return r;
}

static int hand_over(struct session_command *command)
{
    struct parent_message word = {
        .word = command->word, .command = command->id, .signal = command->port};
    int others[3] = {-1, -1, -1};
    int r = open_pipes(command, others);
    int fds[COMMAND_FDS] = {command->text_fd, others[0], others[1], others[2]};
    const struct fd_message message = {&word, sizeof(word), fds, COMMAND_FDS};
    if (r == 0)
        r = fd_message_send(command->set->sandbox->control_fd, &message);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        fd_close(&others[i]);
    fd_close(&command->text_fd);
    return r;
}

static void begin(struct session_command *command)
{
    command->stage = COMMAND_STARTING;
    if (command->word == WORD_COMMAND && command->set->note_network(command->set))
        command->network = calloc(1, sizeof(*command->network));
    int r = hand_over(command);
    bool is_lost = r == -EPIPE || r == -ECONNRESET; /* init has ended, which the run will report */
    if (r == 0 || is_lost) {
        arm(command, SETUP_MAX_MS);
        return;
    }
    command->stage = COMMAND_REFUSED;
    command->status = fault_set(&command->fault, -r, "cannot start %s: %m", command->name);
    arm(command, 0);
}

/* Whether another one may begin beside those that have. */
static bool has_room(const struct command_set *set, enum parent_word word)
{
    size_t begun = 0;
    for (const struct session_command *one = set->first; one != NULL; one = one->next)
        begun += one->word == word && one->stage != COMMAND_WAITING;
    return begun < most_of(word);
}

void command_set_begin(struct command_set *set)
{
    for (struct session_command *command = set->first; command != NULL; command = command->next)
        if (command->stage == COMMAND_WAITING && has_room(set, command->word))
            begin(command);
}

bool command_set_has(const struct command_set *set, bool begun)
{
    const struct session_command *command = set->first;
    while (command != NULL && (command->stage == COMMAND_WAITING) == begun)
        command = command->next;
    return command != NULL;
}

static int explain(const struct session_command *command, const struct child_report *report,
                   struct fault *fault)
{
    int error = report->error;
    bool is_missing = error == ENOENT || error == ENOTDIR;
    fault_identify(fault, is_missing || error == EACCES ? is_missing ? "no_such_file" : "permission"
                          : error == E2BIG              ? "too_large"
                                                        : "command_failed");
    if (report->step == STEP_PROGRAM_DIRECTORY)
        return fault_set(fault, error, "cannot start %s in the directory %s: %m", command->name,
                         command->directory != NULL ? command->directory : ".");
    if (report->step == STEP_FORK && error == EAGAIN)
        return fault_set(fault, error,
                         "cannot start %s: the session has as many processes as it may have",
                         command->name);
    return fault_set(fault, error, "cannot start %s in the session: %m", command->name);
}

static void on_started(struct session_command *command, const struct child_report *report)
{
    if (report->error != 0) {
        struct fault fault = {0};
        int r = explain(command, report, &fault);
        refuse(command, r, &fault);
        return;
    }
    command->stage = COMMAND_RUNNING;
    command->started_at = clock_now();
    arm(command, command->wall_ms);
    watch_outputs(command);
    push(command);
    if (command->is_stopped)
        interrupt(command);
    if (command->word == WORD_STREAM)
        command->set->ended(command->set);
}

void command_set_take_report(struct command_set *set, const struct child_report *report)
{
    struct session_command *command = set->first;
    while (command != NULL && command->id != report->index)
        command = command->next;
    if (command == NULL)
        return;
    if (report->kind == REPORT_COMMAND_STARTED && command->stage == COMMAND_STARTING)
        on_started(command, report);
    else if (report->kind == REPORT_COMMAND_ENDED && command->stage == COMMAND_RUNNING)
        on_ended(command, report);
}

bool command_set_needs_place(const struct command_set *set)
{
    const struct session_command *command = set->first;
    while (command != NULL && command->word == WORD_STREAM && command->stage == COMMAND_RUNNING)
        command = command->next;
    return command != NULL;
}

int64_t command_set_time_left(const struct command_set *set)
{
    int64_t longest = 0;
    for (const struct session_command *command = set->first; command != NULL;
         command = command->next) {
        int64_t left = command->wall_ms - since(command->started_at) / NANOSECONDS_PER_MILLISECOND;
        longest = left > longest ? left : longest;
    }
    return longest;
}

/* The set. */

/* Takes the text. */
static int add(struct command_set *set, const struct command_spec *spec, int *text_fd,
               struct session_command **ret_command, struct fault *fault)
{
    OWNED(command_free_pointer) struct session_command *command = calloc(1, sizeof(*command));
    if (command == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a command");
    *command = (struct session_command){
        .set = set,
        .word = WORD_COMMAND,
        .text_fd = fd_take(text_fd),
        .in = {.fd = -1,
               .watch = {.fd = -1, .ready = on_stdin},
               .bytes = BUFFER(COMMAND_STDIN_MAX),
               .ends = !spec->keeps_stdin_open},
        .out = {.stream = OUTPUT_STDOUT, .fd = -1, .watch = {.fd = -1, .ready = on_stdout}},
        .err = {.stream = OUTPUT_STDERR, .fd = -1, .watch = {.fd = -1, .ready = on_stderr}},
        .timer = {.fire = on_timer},
        .wall_ms = spec->wall_ms,
        .submitted_at = clock_now(),
    };
    command->name = strdup(spec->argv[0]);
    command->directory = spec->directory != NULL ? strdup(spec->directory) : NULL;
    if (command->name == NULL || (spec->directory != NULL && command->directory == NULL))
        return fault_set(fault, ENOMEM, "out of memory for a command");
    int r = buffer_append(&command->in.bytes, spec->stdin_bytes, spec->stdin_length);
    if (r < 0)
        return fault_set(fault, r == -ENOBUFS ? E2BIG : -r,
                         "the standard input of a command is larger than %llu MiB",
                         (unsigned long long)(COMMAND_STDIN_MAX / MEBIBYTE));
    set->last_id = set->last_id == INT32_MAX ? 1 : set->last_id + 1;
    command->id = set->last_id;
    *ret_command = pointer_take(&command);
    return 0;
}

static void enter_set(struct session_command *command)
{
    LIST_APPEND(command->set->first, command);
    *count_of(command->set, command->word) += 1;
}

int command_set_add(struct command_set *set, const struct command_spec *spec,
                    const struct command_observer *observer, struct session_command **ret_command,
                    struct fault *fault)
{
    enum parent_word word = spec->port > 0 ? WORD_STREAM : WORD_COMMAND;
    struct command_spec named = *spec;
    static const char *const connection[] = {"a connection", NULL};
    if (word == WORD_STREAM)
        named.argv = connection;
    if (named.argv[0] == NULL || named.argv[0][0] == '\0')
        return fault_set(fault, EINVAL, "a command without a program");
    if (*count_of(set, word) >= most_of(word)) {
        fault_identify(fault, "limit");
        return fault_set(fault, EAGAIN,
                         "%zu %s of this session are open already; try again when one has ended",
                         most_of(word), word == WORD_STREAM ? "connections" : "commands");
    }
    OWNED_FD int text_fd = -1;
    const struct text_spec text = {
        .directory = spec->directory, .argv = named.argv, .environment = spec->environment};
    int r = program_text_make(&text, &text_fd, fault);
    if (r == 0)
        r = add(set, &named, &text_fd, ret_command, fault);
    if (r < 0)
        return r;
    struct session_command *command = *ret_command;
    command->observer = *observer;
    command->word = word;
    command->port = spec->port;
    capture_open(&command->out.capture, set->output_kept);
    capture_open(&command->err.capture, set->output_kept);
    enter_set(command);
    return 0;
}

int command_set_add_file(struct command_set *set, const struct command_spec *spec, int *text_fd,
                         const struct command_observer *observer,
                         struct session_command **ret_command, struct fault *fault)
{
    if (set->file_count >= FILES_AT_ONCE + FILES_WAITING_MAX) {
        fault_identify(fault, "busy");
        return fault_set(fault, EAGAIN, "%d requests on files of this session wait already",
                         FILES_WAITING_MAX);
    }
    int r = add(set, spec, text_fd, ret_command, fault);
    if (r < 0)
        return r;
    struct session_command *command = *ret_command;
    command->word = WORD_FILE;
    command->observer = *observer;
    command->file = observer->data;
    enter_set(command);
    return 0;
}

bool command_set_add_network(struct command_set *set, const struct network_record *record)
{
    bool is_told = false;
    for (struct session_command *command = set->first; command != NULL; command = command->next) {
        if (command->network == NULL)
            continue;
        record_add(command->network, record);
        is_told = true;
    }
    return is_told;
}

void command_set_lose(struct command_set *set, int status, enum run_outcome outcome,
                      const struct fault *fault)
{
    const struct fault early = {.id = "lost",
                                .text = "the session ended before this command began"};
    while (set->first != NULL) {
        struct session_command *command = set->first;
        struct command_result lost;
        if (status < 0) {
            refuse(command, status, fault);
        } else if (command->stage != COMMAND_RUNNING) {
            refuse(command, -ESRCH, &early);
        } else {
            command_result_lose(command->is_stopped ? command->stop : outcome, &lost);
            answer(command, &lost);
        }
    }
}

void command_set_mute(struct command_set *set)
{
    for (struct session_command *command = set->first; command != NULL; command = command->next)
        command->observer = (struct command_observer){0};
}

void command_set_release(struct command_set *set)
{
    while (set->first != NULL) {
        struct session_command *command = set->first;
        leave_set(command);
        command_free(command);
    }
}
