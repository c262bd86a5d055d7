#include "cli/shell.h"

#include "cli/command.h"
#include "cli/run_notes.h"
#include "interpreter/base/log.h"
#include "interpreter/folders/changes_text.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/result/result_json.h"
#include "interpreter/rules/findings_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define END_MAX 256
#define SAVED_TOLD_MAX 5

static void on_signal(struct end_signals *end_signals, int signal_number)
{
    struct shell *shell = container_of(end_signals, struct shell, end_signals);
    if (signal_number != SIGINT) {
        shell->fatal = signal_number;
        loop_stop(&shell->loop);
    } else if (shell->cell != NULL) {
        cell_interrupt(shell->cell);
    } else {
        shell->interrupted(shell->data);
    }
}

/* Writes everything, however slowly it is read, but not past a signal that ends us. */
static void write_out(struct shell *shell, int fd, const char *bytes, size_t length)
{
    while (length > 0 && !shell_is_over(shell)) {
        struct pollfd ready[2] = {{.fd = fd, .events = POLLOUT},
                                  {.fd = shell->end_signals.watch.fd, .events = POLLIN}};
        if (poll(ready, ARRAY_LENGTH(ready), -1) > 0 && ready[1].revents != 0) {
            end_signals_take(&shell->end_signals);
            continue;
        }
        /* As much as surely fits when poll(2) says that there is room: pipe(7). */
        ssize_t count = write(fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
        if (count < 0 && errno == EPIPE)
            shell->fatal = SIGPIPE;
        else if (count < 0 && errno != EAGAIN && errno != EINTR)
            shell->write_error = errno;
        bytes += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
    if (shell_is_over(shell))
        loop_stop(&shell->loop);
}

static void stream_output(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    write_out(data, stream == OUTPUT_STDOUT ? STDOUT_FILENO : STDERR_FILENO, bytes, length);
}

/* With a cell, its result tells why. */
static void session_ended(void *data, int status, const struct run_result *result,
                          const struct fault *fault)
{
    struct shell *shell = data;
    shell->live.session = NULL;
    shell->end.length = 0;
    if (shell->cell != NULL)
        return;
    if (status < 0)
        buffer_format(&shell->end, "%.200s", fault->text);
    else
        outcome_text_describe(result, &shell->end);
}

static void cell_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct shell *shell = data;
    shell->cell = NULL;
    shell->status = status;
    if (status < 0)
        shell->fault = *fault;
    else
        run_result_take(result, &shell->result);
    loop_stop(&shell->loop);
}

static void patches_done(struct patch_job *job)
{
    loop_stop(&container_of(job, struct shell, patches)->loop);
}

static void wait_for_cell(struct shell *shell)
{
    while (shell->cell != NULL && !shell_is_over(shell))
        if (loop_run(&shell->loop) < 0)
            shell->fatal = SIGTERM;
}

int shell_open(struct shell *shell, const struct settings *settings,
               const struct given_files *inputs, const struct language *language,
               struct fault *fault)
{
    *shell = (struct shell){
        .settings = settings,
        .inputs = inputs,
        .language = language,
        .loop = {.epoll_fd = -1},
        .end_signals = INTERRUPTS(on_signal),
        .end = BUFFER(END_MAX),
        .figures_fd = -1,
    };
    shell->launcher = launcher_of(&shell->loop, settings);
    shell->queue = patch_queue_of(&shell->loop, NULL, NULL);
    shell->patches = PATCH_JOB_NONE;
    int r = loop_open(&shell->loop);
    if (r == 0)
        r = end_signals_open(&shell->end_signals, &shell->loop);
    if (r < 0)
        return fault_set(fault, -r, "waiting for signals: %m");
    shell->has_check = settings->policy != NULL;
    return shell->has_check ? program_check_open(&shell->program, settings, fault) : 0;
}

void shell_close(struct shell *shell)
{
    if (shell->has_check)
        program_check_close(&shell->program);
    launcher_release(&shell->launcher);
    patch_job_drop(&shell->patches);
    patch_queue_release(&shell->queue);
    run_result_release(&shell->result);
    live_session_free_variables(&shell->live.environment);
    buffer_release(&shell->end);
    memory_release(&shell->figures);
    fd_close(&shell->figures_fd);
    end_signals_close(&shell->end_signals);
    loop_close(&shell->loop);
}

int shell_prepare(struct shell *shell, struct fault *fault)
{
    const struct session_observer observer = {.ended = session_ended, .data = shell};
    const struct session_wish wish = {.language = shell->language};
    if (shell->live.session != NULL)
        return 0;
    shell->cells = 0;
    return launcher_open_session(&shell->launcher, &wish, &observer, &shell->live, fault);
}

static int start_cell(struct shell *shell, const char *code, size_t length, struct fault *fault)
{
    const struct run_observer observer = {
        .done = cell_done, .output = stream_output, .data = shell};
    struct snippet snippet = {.language = shell->language, .code = code, .length = length};
    int r = shell_prepare(shell, fault);
    if (r < 0)
        return r;
    if (shell->cells++ == 0) {
        snippet.inputs = shell->inputs->inputs;
        snippet.input_count = shell->inputs->count;
    }
    return launcher_continue(&shell->launcher, &shell->live, &snippet, &observer, &shell->cell,
                             fault);
}

/* A directory that is there for figures, once there are some. */
static const char *figures_directory(struct shell *shell)
{
    const char *place = getenv("TMPDIR");
    if (shell->figures != NULL)
        return shell->figures;
    if (asprintf(&shell->figures, "%s/code-sandbox-mcp-shell-XXXXXX",
                 place != NULL && place[0] == '/' ? place : "/tmp") < 0)
        shell->figures = NULL;
    else if (mkdtemp(shell->figures) != NULL)
        shell->figures_fd = open(shell->figures, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (shell->figures_fd < 0) {
        log_note("No directory for figures could be made: %s", strerror(errno));
        memory_release(&shell->figures);
    }
    return shell->figures;
}

/* Where files go: all of them, or without --files-dir only figures. */
static struct files_dir choose_directory(struct shell *shell)
{
    struct run_result *result = &shell->result;
    const struct settings *settings = shell->settings;
    if (settings->files_dir != NULL)
        return (struct files_dir){.path = settings->files_dir, .fd = settings->files_dir_fd};
    if (result->files.count > 0 && !shell->has_told_files)
        log_note("Files of the session end with it; --files-dir DIR keeps copies");
    shell->has_told_files |= result->files.count > 0;
    run_files_release(&result->files);
    result->files = (struct run_files){0};
    bool has_figures = result->figures.count > 0;
    return (struct files_dir){.path = has_figures ? figures_directory(shell) : NULL,
                              .fd = shell->figures_fd};
}

static void tell_saved(const struct result_files *files)
{
    size_t told = 0;
    for (size_t i = 0; i < files->count && told < SAVED_TOLD_MAX; i++)
        if (files->list[i].path != NULL && !files->list[i].is_patch) {
            log_note("%s: %s", files->list[i].is_figure ? "Figure" : "File", files->list[i].path);
            told++;
        }
}

static void tell_files(struct shell *shell)
{
    OWNED(result_files_release) struct result_files files = {0};
    const struct files_dir directory = choose_directory(shell);
    result_files_make(&(struct result_files_request){.result = &shell->result,
                                                     .patches = &shell->patches.patches,
                                                     .call = shell->calls,
                                                     .directory = &directory},
                      &files);
    tell_saved(&files);
    run_notes_tell_files(&shell->result, &files);
    run_notes_tell_changes(&shell->patches.patches);
}

/* What the session has changed in copies of folders. */
static void make_patches(struct shell *shell)
{
    shell->patches.done = patches_done;
    patch_queue_add(&shell->queue, &shell->patches, &shell->result);
    while (shell->patches.queue != NULL && !shell_is_over(shell))
        if (loop_run(&shell->loop) < 0)
            shell->fatal = SIGTERM;
}

static void tell_end(struct shell *shell)
{
    const struct run_result *result = &shell->result;
    bool is_kept = result->session == SESSION_KEPT;
    const struct session_view view = {
        .is_kept = is_kept,
        .kept = live_session_kept(&shell->live),
        .has_variables = shell->language->session->kind == SESSION_LIVE,
        .checkpoint = result->checkpoint,
        .displaced = "",
    };
    const struct run_notes notes = {
        .settings = shell->settings, .language = shell->language, .session = &view};
    if (!is_kept || result->outcome != OUTCOME_CANCELLED) /* else the user knows */
        run_notes_tell_end(result, &notes);
    if (is_kept && result->checkpoint.restored_to > 0)
        log_note("This cell ended the interpreter: variables are as they were before it");
    if (is_kept)
        return;
    if (result->outcome == OUTCOME_EXITED)
        log_note("The session ended with its process: its %s are lost", view.kept);
    log_note("The next cell starts a fresh session");
}

/* The session may go on. */
static void leave_result(struct shell *shell)
{
    folder_patches_release(&shell->patches.patches);
    run_result_release(&shell->result);
    if (shell->live.session != NULL)
        session_folders_read(shell->live.session);
}

/* Copies of folders are told of when the session has ended. */
static void tell_result(struct shell *shell)
{
    struct run_result *result = &shell->result;
    shell->calls++;
    shell->exit_status = result_json_exit_status(result);
    if (result->session == SESSION_LOST)
        make_patches(shell);
    tell_files(shell);
    tell_end(shell);
    leave_result(shell);
}

/* Whether the rules let it run, or there are none; else it says why not. */
static bool check(struct shell *shell, const char *code, size_t length)
{
    struct fault fault = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
    OWNED(buffer_release) struct buffer copy = BUFFER(length);
    const struct findings *findings = &shell->program.check.findings;
    if (!shell->has_check)
        return true;
    int r = buffer_append(&copy, code, length);
    if (r == 0)
        r = program_check_run(&shell->program, shell->language, &copy, &fault);
    if (r < 0) {
        int signal_number = shell->program.signal;
        shell->program.signal = 0;
        shell->fatal = signal_number != SIGINT ? signal_number : 0;
        log_note("%s", fault.text);
        return false;
    }
    if (shell->program.check.has_failed)
        log_note("Policy: the cell was not checked: %s", findings->unchecked);
    bool is_refused = findings_severity(findings) == SEVERITY_REFUSE;
    findings_text_list(findings, is_refused ? SEVERITY_REFUSE : SEVERITY_WARN,
                       is_refused ? "Not run: " : "Policy: ", &text);
    log_note_lines(text.length > 0 ? buffer_string(&text) : NULL);
    return !is_refused;
}

/* A session that ended while nobody used it. */
static void tell_lost(struct shell *shell)
{
    if (shell->end.length > 0)
        log_note("The session ended: %s; its %s are lost, and a fresh one starts",
                 buffer_string(&shell->end), live_session_kept(&shell->live));
    shell->end.length = 0;
}

void shell_run(struct shell *shell, const char *code, size_t length)
{
    tell_lost(shell);
    shell->exit_status = EXIT_RUN_FAILED;
    if (!check(shell, code, length))
        return;
    shell->status = start_cell(shell, code, length, &shell->fault);
    wait_for_cell(shell);
    if (shell->fatal != 0)
        return;
    if (shell->write_error != 0)
        log_note("Output is lost: %s", strerror(shell->write_error));
    else if (shell->status < 0)
        log_note("%s", shell->fault.text);
    else
        tell_result(shell);
}

void shell_choose(struct shell *shell, const struct language *language)
{
    struct fault fault = {0};
    tell_lost(shell);
    if (shell_prepare(shell, &fault) < 0)
        log_note("%s", fault.text);
    else if (launcher_may_continue(&shell->live, language))
        shell->language = language;
    else
        log_note("image %s, on which this session runs, has no %s: `code-sandbox-mcp shell "
                 "--language %s` runs on image %s",
                 shell->live.image, language->argv[0], language->name,
                 settings_image(shell->settings, language));
}

/* Finds the changes, if there can be any. What has been told of them is to be left with leave_result(). */
static bool look(struct shell *shell)
{
    const struct run_observer observer = {.done = cell_done, .data = shell};
    bool has_copies = folders_have(&shell->settings->folders, FOLDER_OVERLAY);
    if (!has_copies || shell->live.session == NULL || shell->cells == 0)
        return false;
    shell->status = session_look(shell->live.session, &observer, &shell->cell, &shell->fault);
    wait_for_cell(shell);
    if (shell->status == 0 && !shell_is_over(shell))
        make_patches(shell);
    else if (shell->status < 0)
        log_note("%s", shell->fault.text);
    return shell->status == 0 && !shell_is_over(shell);
}

void shell_show_changes(struct shell *shell)
{
    OWNED(buffer_release) struct buffer text = BUFFER(MEBIBYTE);
    bool is_known = look(shell);
    if (is_known && changes_text_note(&shell->patches.patches, 0, true, &text) == 0)
        buffer_append(&text, "\n", text.length > 0 ? 1 : 0);
    if (text.length > 0)
        write_out(shell, STDOUT_FILENO, text.data, text.length);
    else
        log_note("No copy of a folder has changed");
    if (is_known)
        leave_result(shell);
}

void shell_tell_changes(struct shell *shell)
{
    if (!look(shell))
        return;
    shell->calls++;
    tell_files(shell);
    leave_result(shell);
}

bool shell_is_over(const struct shell *shell)
{
    return shell->fatal != 0 || shell->write_error != 0;
}
