#include "cli/command.h"
#include "cli/given_files.h"
#include "cli/program_check.h"
#include "cli/run_notes.h"
#include "cli/run_source.h"
#include "cli/run_workdir.h"
#include "cli/signal_relay.h"
#include "images/store/xdg.h"
#include "interpreter/base/log.h"
#include "interpreter/launcher.h"
#include "interpreter/result/result_json.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/settings/own_paths.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "interpreter/settings/tier_choice.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE_WAIT_MS 10000

/* What the command line says. */
struct run_options {
    struct settings settings;
    const struct language *language;
    bool json;
    const char *code; /* of -c, or NULL */
    const char *path; /* of the program's file; "-": its code is on stdin; "": it is that of -c */
    const char *const *arguments; /* of the program, NULL-terminated; or NULL */
    struct given_files files;
    struct run_workdir workdir;
};

/* How often the limits are looked at while a slow reader holds the loop. */
#define CHECK_MS 20

/* One run, from submitting to its end. */
struct execution {
    struct loop loop;
    struct launcher launcher;
    const struct run_options *options;
    const struct check *check; /* before it, by --policy; NULL: none */
    struct check told;         /* by the worker that ran it */
    struct signal_relay relay;
    struct files_dir directory; /* of --files-dir */
    struct launched run; /* none before it has started and when it is done */
    struct run_result result; /* then */
    struct patch_queue queue;
    struct patch_job patches;
    int write_error; /* why output was lost, or 0 */
    int exit_status; /* once the loop has stopped; */
    int cause; /* and the signal that was passed on and ended the program, or 0 */
};

/* Whether the path of a program is that of a file, and not "-" or "". */
static bool is_file(const char *path)
{
    return path[0] != '\0' && strcmp(path, "-") != 0;
}

#define AT(member) .offset = offsetof(struct run_options, member)

static int add_workdir(void *data, const struct option *option, const char *value,
                       struct fault *fault)
{
    struct run_options *options = data;
    (void)option;
    return run_workdir_add(&options->workdir, &options->settings, value, fault);
}

static const struct option own_options[] = {
#define LANGUAGE(name, place) #name ", "
    {"--language", "LANGUAGE", LANGUAGES "or as\nthe file's name suggests (the default)",
     run_source_set_language, AT(language)},
#undef LANGUAGE
    {"--code", "CODE", "run this code; or -c CODE", option_keep_text, AT(code), .short_name = "-c"},
    {"--file", "FILE",
     "put a copy of FILE beside the program, or with\nNAME=FILE under that name; repeatable",
     given_files_add, AT(files)},
    {"--workdir", "DIR[:MODE]",
     "run in DIR of this computer, as --mount shows it:\nro (the default), overlay or rw; a FILE below it\nruns there",
     add_workdir, NULL},
    {"--json", NULL, "print one JSON object with the output and the\noutcome", option_set_flag,
     AT(json)},
    {0},
};

/*
 * Nobody reading any more ends the run as SIGPIPE would have ended a program that ran here. A full disk
 * ends it, too, but with a word: the reader of the file must not take half of the output for all.
 */
static void give_up_writing(struct execution *execution, int fd, int error)
{
    if (error == EPIPE) {
        signal_relay_give_up(&execution->relay, SIGPIPE);
    } else if (execution->write_error == 0) {
        execution->write_error = error;
        log_note("Output is lost: writing to %s: %s", fd == STDOUT_FILENO ? "stdout" : "stderr",
                 strerror(error));
    }
    loop_stop(&execution->loop);
}

/* Writes everything, however slowly it is read, but not past a signal that ends us. */
static void write_out(struct execution *execution, int fd, const char *bytes, size_t length)
{
    int64_t blocked_since = clock_now();
    while (length > 0 && execution->relay.fatal == 0 && execution->write_error == 0) {
        struct pollfd ready[2] = {{.fd = fd, .events = POLLOUT},
                                  {.fd = execution->relay.end_signals.watch.fd, .events = POLLIN}};
        int count_ready = poll(ready, ARRAY_LENGTH(ready), CHECK_MS);
        launched_check_limits(&execution->run);
        if (count_ready <= 0 || ready[1].revents != 0) {
            signal_relay_check(&execution->relay, blocked_since);
            continue;
        }
        /* As much as surely fits when poll(2) says that there is room: pipe(7). */
        ssize_t count = write(fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            give_up_writing(execution, fd, errno);
        bytes += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
        blocked_since = clock_now();
    }
}

static void stream_output(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    struct execution *execution = data;
    if (!execution->options->json)
        write_out(execution, stream == OUTPUT_STDOUT ? STDOUT_FILENO : STDERR_FILENO, bytes,
                  length);
}

/* Closes the writer and prints its text as a line. 0 or a negative errno. */
static int print_json(struct execution *execution, struct json_writer *writer, struct buffer *text)
{
    int r = json_writer_close(writer);
    if (r == 0)
        r = buffer_append(text, "\n", 1);
    if (r == 0)
        write_out(execution, STDOUT_FILENO, text->data, text->length);
    return r;
}

/* {"error": {...}} */
static int write_fault(const struct fault *fault, struct buffer *text,
                       struct json_writer **ret_writer)
{
    int r = json_writer_open(text, ret_writer);
    if (r < 0)
        return r;
    json_begin_object(*ret_writer);
    json_key(*ret_writer, "error");
    result_json_write_fault(*ret_writer, fault);
    json_end_object(*ret_writer);
    return 0;
}

static void print_fault(struct execution *execution, const struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(RESULT_JSON_MAX(FAULT_TEXT_MAX));
    struct json_writer *writer = NULL;
    if (write_fault(fault, &text, &writer) == 0)
        print_json(execution, writer, &text);
}

static void tell_fault(struct execution *execution, const struct fault *fault)
{
    log_note("%s", fault->text);
    if (execution->options->json)
        print_fault(execution, fault);
}

/* `files`: those that were saved or should have been; or NULL. */
static int print_record(struct execution *execution, const struct result_files *files)
{
    const struct run_result *result = &execution->result;
    OWNED(buffer_release) struct buffer text = BUFFER(RESULT_JSON_MAX(result->limits.output_kept));
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    const struct record record = {
        .result = result,
        .image = settings_image(&execution->options->settings, execution->options->language),
        .stdout_cut = result->out.cut,
        .stderr_cut = result->err.cut,
        .files = files,
        .patches = &execution->patches.patches,
        .network = &execution->options->settings.network,
        .check = execution->check,
    };
    json_begin_object(writer);
    result_json_write_output(writer, result);
    result_json_write_members(writer, &record);
    json_end_object(writer);
    return print_json(execution, writer, &text);
}

static void tell_end(const struct execution *execution)
{
    const struct run_options *options = execution->options;
    const struct settings *settings = &options->settings;
    OWNED_MEMORY char *home = xdg_home() != NULL ? realpath(xdg_home(), NULL) : NULL;
    const struct run_notes notes = {
        .settings = settings,
        .language = options->language,
        .place = {.script = is_file(options->path) ? options->path : NULL,
                  .home = home,
                  .may_mount = settings->engine.tier < TIER_C && settings->fleet.url == NULL,
                  .workdir = options->workdir.said != NULL ? &settings->folders.list[0] : NULL},
    };
    run_notes_tell_end(&execution->result, &notes);
}

/* Saves the files, if that is wanted, and prints the record or the notes. 0 or a negative errno. */
static int report_end(struct execution *execution)
{
    const struct run_result *result = &execution->result;
    OWNED(result_files_release) struct result_files files = {0};
    bool saves = execution->directory.path != NULL;
    result_files_make(&(struct result_files_request){.result = result,
                                                     .patches = &execution->patches.patches,
                                                     .directory = &execution->directory},
                      &files);
    run_notes_tell_files(result, &files);
    if (execution->options->json)
        return print_record(execution, saves ? &files : NULL);
    run_notes_tell_changes(&execution->patches.patches);
    if (execution->cause == 0) /* else the user knows */
        tell_end(execution);
    return 0;
}

/* As the check here tells them, but when the program has run. */
static void take_told(struct execution *execution)
{
    OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
    check_take_told(&execution->told, &execution->result.told_findings);
    if (!check_was_made(&execution->told))
        return;
    execution->check = &execution->told;
    if (execution->told.findings.unchecked != NULL)
        log_note("Policy: the program was not checked: %s", execution->told.findings.unchecked);
    if (findings_text_list(&execution->told.findings, SEVERITY_WARN, "Policy: ", &text) == 0 &&
        text.length > 0)
        log_note_lines(buffer_string(&text));
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct execution *execution = data;
    execution->run = (struct launched){0};
    signal_relay_end(&execution->relay);
    if (status < 0) {
        loop_stop(&execution->loop);
        tell_fault(execution, fault);
        execution->exit_status = EXIT_RUN_FAILED;
        return;
    }
    run_result_take(result, &execution->result);
    take_told(execution);
    patch_queue_add(&execution->queue, &execution->patches, &execution->result);
}

static void patches_done(struct patch_job *job)
{
    struct execution *execution = container_of(job, struct execution, patches);
    loop_stop(&execution->loop);
    execution->exit_status = result_json_exit_status(&execution->result);
    execution->cause = signal_relay_cause(&execution->relay, &execution->result);
    if (report_end(execution) < 0) {
        log_note("no memory for the record");
        execution->exit_status = EXIT_RUN_FAILED;
    }
}

static void execution_close(struct execution *execution)
{
    launcher_release(&execution->launcher);
    patch_job_drop(&execution->patches);
    patch_queue_release(&execution->queue);
    run_result_release(&execution->result);
    findings_release(&execution->told.findings);
    signal_relay_close(&execution->relay);
    loop_close(&execution->loop);
}

/* Whether writing to stdout and to stderr is the same: a terminal, a pipe, a file that both lead to. */
static bool is_one_output(void)
{
    struct stat out;
    struct stat err;
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

/* All of it but stdin. */
static struct snippet make_snippet(const struct run_options *options, const struct buffer *code)
{
    const struct given_files *files = &options->files;
    return (struct snippet){
        .language = options->language,
        .code = code->data,
        .length = code->length,
        .arguments = options->arguments,
        .inputs = files->inputs,
        .input_count = files->count,
        .joins_output = !options->json && options->settings.fleet.url == NULL && is_one_output(),
        .directory = options->workdir.directory,
        .program = options->workdir.program,
    };
}

/* Starts the program, and goes on until its end has been told. 0, or a negative errno with its fault. */
static int execute(struct execution *execution, struct snippet *snippet, struct fault *fault)
{
    const struct run_options *options = execution->options;
    const struct run_observer observer = {
        .done = run_done, .output = stream_output, .data = execution};
    OWNED(buffer_release) struct buffer input = BUFFER(RUN_SOURCE_MAX);
    int r = run_source_stdin(options->path, &snippet->stdin_source, fault);
    if (r == 0 && options->settings.fleet.url != NULL)
        r = run_source_read_stdin(&snippet->stdin_source, &input, fault);
    if (r == 0)
        r = loop_open(&execution->loop);
    if (r == 0)
        r = signal_relay_open(&execution->relay, &execution->loop, &execution->run);
    if (r < 0)
        return fault_set(fault, -r, "waiting for signals: %m");
    r = launcher_start(&execution->launcher, snippet, &observer, &execution->run, fault);
    if (r < 0)
        return r;
    r = loop_run(&execution->loop);
    return r < 0 ? fault_set(fault, -r, "waiting for the run: %m") : 0;
}

static int run_code(struct run_options *options, const struct buffer *code,
                    const struct check *check)
{
    struct execution execution = {
        .loop = {.epoll_fd = -1},
        .options = options,
        .check = check,
        .relay = SIGNAL_RELAY_NONE,
        .directory = {options->settings.files_dir, true, options->settings.files_dir_fd},
    };
    execution.launcher = launcher_of(&execution.loop, &options->settings);
    execution.queue = patch_queue_of(&execution.loop, NULL, NULL);
    execution.patches = PATCH_JOB_NONE;
    execution.patches.done = patches_done;
    struct snippet snippet = make_snippet(options, code);
    struct fault fault = {0};
    int r = execute(&execution, &snippet, &fault);
    execution_close(&execution);
    if (r < 0)
        tell_fault(&execution, &fault);
    int signal_number = execution.relay.fatal != 0 ? execution.relay.fatal : execution.cause;
    if (signal_number != 0)
        end_signals_die_of(&execution.relay.end_signals, signal_number);
    return r < 0 || execution.write_error != 0 ? EXIT_RUN_FAILED : execution.exit_status;
}

static void set_no_language(const char *path, struct fault *fault)
{
    char names[LANGUAGE_NAMES_SIZE];
    fault_set(fault, EINVAL,
              "cannot guess the language of %s: use --language, before -c or FILE, with %s",
              strcmp(path, "-") == 0 ? "stdin"
              : path[0] == '\0'      ? "the code"
                                     : path,
              language_names(names));
}

/* Refuses options that make no sense together. 0, or a negative errno with its fault. */
static int check_pairs(const struct run_options *options, struct fault *fault)
{
    if (options->workdir.said == NULL)
        return 0;
    if (options->settings.fleet.url != NULL)
        return fault_set(fault, EINVAL,
                         "--workdir and --workers cannot be combined: workers see no folder of "
                         "this computer; --file sends them a file");
    if (options->files.count > 0)
        return fault_set(fault, EINVAL,
                         "--workdir and --file cannot be combined: the program starts in the "
                         "folder, and no file is put there; give --mount for a further folder");
    return 0;
}

static int read_settings(struct run_options *options, struct fault *fault)
{
    int r = settings_read(&options->settings, fault);
    if (r == 0)
        r = check_pairs(options, fault);
    if (r == 0)
        r = settings_read_workers(&options->settings, fault);
    return r == 0 ? rules_try(options->settings.policy, fault) : r;
}

/* Reads the command line; as command_read_options(). */
static int read_arguments(const struct command *command, int argc, char **argv,
                          struct run_options *options)
{
    int operands = 0;
    int status = EXIT_DONE;
    struct fault fault = {0};
    void *const data[] = {options, &options->settings, &options->settings, &options->settings};
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    int own = options->code != NULL ? 0 : 1; /* operands that are not the program's */
    const char *path = own == 0 ? "" : operands > 0 ? argv[0] : "-";
    if (operands > 0 && operands < argc)
        argv[operands] = NULL; /* an option was there before */
    if (operands > own)
        options->arguments = (const char *const *)argv + own;
    if (options->language == NULL)
        options->language = run_source_language(path);
    bool is_typed = strcmp(path, "-") == 0 && isatty(STDIN_FILENO) == 1;
    if (options->language == NULL && is_typed)
        set_no_language(path, &fault);
    else
        read_settings(options, &fault);
    if (fault.text[0] == '\0' && options->settings.fleet.url == NULL)
        tier_choose(&options->settings);
    if (fault.text[0] != '\0')
        return command_refuse(command, &fault);
    options->path = path;
    return EXIT_DONE;
}

/* Prints why nothing ran, for programs. */
static void print_refusal(const struct run_options *options, const struct fault *fault)
{
    OWNED(buffer_release) struct buffer json = BUFFER(RESULT_JSON_MAX(FAULT_TEXT_MAX));
    struct json_writer *writer = NULL;
    if (options->json && write_fault(fault, &json, &writer) == 0 && json_writer_close(writer) == 0)
        printf("%.*s\n", (int)json.length, json.data);
}

/* Says on stderr, or as JSON, that the rules refuse the program. */
static int refuse_to_run(const struct run_options *options, const struct findings *findings)
{
    OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
    struct fault fault = {.id = "policy"};
    findings_text_list(findings, SEVERITY_REFUSE, "Not run: ", &text);
    char *lines = buffer_string(&text);
    fault_set(&fault, EPERM, "%s", lines != NULL ? lines : "Not run: the rules refuse it");
    print_refusal(options, &fault);
    log_note_lines(lines);
    return EXIT_RUN_FAILED;
}

/* Runs the program, after the check that --policy asks for. */
static int check_and_run(struct run_options *options, const struct buffer *code)
{
    struct program_check program;
    struct fault fault = {0};
    if (options->settings.policy == NULL)
        return run_code(options, code, NULL);
    int r = program_check_open(&program, &options->settings, &fault);
    bool is_checked = checker_is_for(&program.checker, options->language);
    if (r == 0)
        r = program_check_run(&program, options->language, code, &fault);
    checker_stop(&program.checker);
    const struct findings *findings = &program.check.findings;
    int status = EXIT_RUN_FAILED;
    if (r < 0) {
        print_refusal(options, &fault);
        log_note("%s", fault.text);
    } else if (findings_severity(findings) == SEVERITY_REFUSE) {
        status = refuse_to_run(options, findings);
    } else {
        OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
        if (program.check.has_failed)
            log_note("Policy: the program was not checked: %s", findings->unchecked);
        findings_text_list(findings, SEVERITY_WARN, "Policy: ", &text);
        log_note_lines(text.length > 0 ? buffer_string(&text) : NULL);
        status = run_code(options, code, is_checked ? &program.check : NULL);
    }
    program_check_close(&program);
    if (program.signal != 0)
        end_signals_die_of(&program.end_signals, program.signal);
    return status;
}

static void run_options_release(struct run_options *options)
{
    settings_release(&options->settings);
    given_files_release(&options->files);
    run_workdir_release(&options->workdir);
}

static int run(const struct command *command, int argc, char **argv)
{
    OWNED(run_options_release) struct run_options options = {.settings = settings_default()};
    int status = read_arguments(command, argc, argv, &options);
    if (options.path == NULL)
        return status;
    log_wait_for_reader(
        NOTE_WAIT_MS); /* how a program ended must not be lost behind what it printed */
    struct fault fault = {0};
    OWNED(buffer_release) struct buffer code = BUFFER(RUN_SOURCE_MAX);
    int r =
        is_file(options.path) ? own_paths_check_given(&options.settings, options.path, &fault) : 0;
    if (r < 0)
        return command_refuse(command, &fault);
    r = options.code != NULL ? buffer_append_text(&code, options.code)
                             : run_source_read(&options.settings, options.path, &code, &fault);
    if (r < 0) {
        log_note("%s", fault.text);
        return EXIT_RUN_FAILED;
    }
    if (options.language == NULL)
        options.language = run_source_interpreter(&code);
    if (options.language == NULL) {
        set_no_language(options.path, &fault);
        return command_refuse(command, &fault);
    }
    r = given_files_read(&options.files, &options.settings, options.language->code_name, &fault);
    if (r == 0)
        r = run_workdir_find(&options.workdir, &options.settings,
                             is_file(options.path) ? options.path : NULL, &fault);
    if (r < 0)
        return command_refuse(command, &fault);
    return check_and_run(&options, &code);
}

static const struct option *const run_options[] = {own_options, settings_of_runs,
                                                   settings_of_callers, settings_of_broker, NULL};

const struct command command_run = {
    .name = "run",
    .usage = "run [OPTION...] [FILE|- [ARGUMENT...]] | run [OPTION...] -c CODE [ARGUMENT...]",
    .summary = "run a file, or the program on stdin, in a sandbox",
    .help =
        "Runs FILE or CODE in a sandbox, with the arguments and the stdin given here, or runs the\n"
        "program on stdin, then with an empty stdin. The language is that of the file's name or of the\n"
        "interpreter in the first line (#!). Everything after FILE or CODE goes to the program,\n"
        "options too; so do Ctrl-C and SIGTERM. The output is streamed. The exit status is the\n"
        "program's own, or 128 + N after signal N, 124 after a timeout, 137 out of memory or\n"
        "processes, 152 out of processor time, 153 after too much output or too much written to\n"
        "folders, 125 if the sandbox could not run it or its output could not be written. Variables\n"
        "and the configuration file apply as for a server.\n",
    .options = run_options,
    .passes_arguments = true,
    .run = run,
};
