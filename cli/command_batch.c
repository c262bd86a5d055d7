#include "cli/command.h"
#include "cli/rlimit_notes.h"
#include "fleet/call_stream.h"
#include "fleet/id_set.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/end_signals.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/own_paths.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "interpreter/settings/tier_choice.h"
#include "sandbox/base/heap.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_MS 200
#define COUNTED_MAX (256 * MEBIBYTE) /* of a file whose lines are counted before */
/* Memory blocks of at least this size are returned to the system when freed. */
#define LARGE_BLOCK (128 * KIBIBYTE)

struct batch_options {
    struct settings settings;
    bool ordered;
    const char *resume;
};

/* One execution of the command. */
struct batch {
    const struct batch_options *options;
    struct loop loop;
    struct end_signals end_signals;
    struct call_stream stream;
    struct id_set finished; /* of --resume */
    struct loop_timer progress;
    int64_t began;
    bool shows_progress;
    uint64_t total; /* calls in the input; 0: nobody knows */
    int signal; /* the first one; 0: none came */
};

#define AT(member) .offset = offsetof(struct batch_options, member)

static const struct option own_options[] = {
    {"--ordered", NULL, "write results in the order of the lines", option_set_flag, AT(ordered)},
    {"--resume", "FILE", "skip the calls whose results are in FILE, by\ntheir ids",
     option_keep_text, AT(resume)},
    {0},
};

static void print_progress(const struct batch *batch, const char *end)
{
    const struct call_counts *counts = &batch->stream.counts;
    uint64_t done = counts->ran + counts->not_run + counts->lost;
    double seconds = (double)(clock_now() - batch->began) / (double)NANOSECONDS_PER_SECOND;
    double rate = seconds > 0 ? (double)done / seconds : 0;
    uint64_t over = done + counts->skipped;
    fprintf(stderr, "\r\033[K%" PRIu64, over);
    if (batch->total > 0)
        fprintf(stderr, " of %" PRIu64, batch->total);
    fprintf(stderr, " done, %" PRIu64 " errors, %.1f a second", counts->not_run + counts->lost,
            rate);
    if (batch->total > over && rate > 0)
        fprintf(stderr, ", about %.0f s left", 1 + (double)(batch->total - over) / rate);
    fputs(end, stderr);
}

/* The lines of a file that are not blank, from where it is read. Of a pipe or a long file: 0. */
static uint64_t count_calls(int fd)
{
    struct stat status;
    char block[16 * KIBIBYTE];
    off_t at = lseek(fd, 0, SEEK_CUR);
    uint64_t count = 0;
    bool is_in_line = false;
    if (at < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size - at > (off_t)COUNTED_MAX)
        return 0;
    for (ssize_t length; (length = pread(fd, block, sizeof(block), at)) > 0; at += length) {
        for (ssize_t i = 0; i < length; i++) {
            bool is_blank = strchr(" \t\r\n", block[i]) != NULL && block[i] != '\0';
            count += !is_blank && !is_in_line;
            is_in_line = block[i] != '\n' && (is_in_line || !is_blank);
        }
    }
    return count;
}

static void show_progress(struct loop_timer *timer)
{
    struct batch *batch = container_of(timer, struct batch, progress);
    print_progress(batch, "");
    loop_arm(&batch->loop, timer, clock_now() + PROGRESS_MS * NANOSECONDS_PER_MILLISECOND);
}

/* The first one lets what runs come to its end; the second does not wait. */
static void interrupt(struct end_signals *end_signals, int signal_number)
{
    struct batch *batch = container_of(end_signals, struct batch, end_signals);
    if (batch->signal != 0) {
        loop_stop(&batch->loop);
        return;
    }
    batch->signal = signal_number;
    call_stream_finish(&batch->stream);
}

static void stream_ended(void *data)
{
    struct batch *batch = data;
    loop_stop(&batch->loop);
}

static bool is_finished(void *data, const struct buffer *id)
{
    const struct batch *batch = data;
    return id_set_has(&batch->finished, id->data, id->length);
}

/* Where the results go on in the same file, a line that was torn by a kill goes. */
static int drop_torn_line(const char *path, const struct id_file *file, struct fault *fault)
{
    struct stat ours;
    struct stat theirs;
    if (file->torn == 0 || fstat(STDOUT_FILENO, &ours) < 0 || stat(path, &theirs) < 0 ||
        !S_ISREG(ours.st_mode) || ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
        return 0;
    if (ftruncate(STDOUT_FILENO, (off_t)file->complete) < 0)
        return fault_set(fault, errno, "removing the incomplete last line of %s: %m", path);
    return 0;
}

static int read_finished(struct batch *batch, struct fault *fault)
{
    const char *path = batch->options->resume;
    struct id_file file = {0};
    if (path == NULL)
        return 0;
    int r = id_set_read(&batch->finished, path, &file, fault);
    if (r == 0 && file.foreign > 0)
        log_note("%s has %" PRIu64 " lines that are no results of batch; they are ignored", path,
                 file.foreign);
    return r < 0 ? r : drop_torn_line(path, &file, fault);
}

static int batch_open(struct batch *batch, const struct batch_options *options, struct fault *fault)
{
    *batch = (struct batch){
        .options = options,
        .loop = {.epoll_fd = -1},
        .end_signals = INTERRUPTS(interrupt),
        .progress = {.fire = show_progress},
        .began = clock_now(),
        .shows_progress = isatty(STDERR_FILENO) == 1,
    };
    if (batch->shows_progress)
        batch->total = count_calls(STDIN_FILENO);
    const struct call_stream_options stream_options = {
        .settings = &options->settings,
        .fleet = &options->settings.fleet,
        .input_fd = STDIN_FILENO,
        .output_fd = STDOUT_FILENO,
        .ordered = options->ordered,
        .is_done = options->resume != NULL ? is_finished : NULL,
        .ended = stream_ended,
        .data = batch,
    };
    int r = read_finished(batch, fault);
    if (r == 0 && (r = loop_open(&batch->loop)) < 0)
        fault_set(fault, -r, "waiting for runs: %m");
    if (r == 0 && (r = end_signals_open(&batch->end_signals, &batch->loop)) < 0)
        fault_set(fault, -r, "waiting for signals: %m");
    return r < 0 ? r : call_stream_open(&batch->stream, &batch->loop, &stream_options, fault);
}

static void batch_close(struct batch *batch)
{
    if (batch->stream.loop != NULL)
        call_stream_close(&batch->stream);
    id_set_release(&batch->finished);
    end_signals_close(&batch->end_signals);
    loop_close(&batch->loop);
}

/* What went wrong besides the calls, if anything did. 0 or a negative errno with its fault. */
static int find_fault(const struct batch *batch, struct fault *fault)
{
    const struct channel *channel = &batch->stream.channel;
    if (channel->input_error != 0)
        return fault_set(fault, channel->input_error, "reading calls from stdin: %m");
    if (channel->output_error != 0 && channel->output_error != EPIPE)
        return fault_set(fault, channel->output_error, "writing results to stdout: %m");
    if (batch->stream.has_failed)
        return fault_set(fault, ENOMEM, "some calls have no result: %m");
    return 0;
}

static int run_batch(const struct batch_options *options)
{
    struct batch batch;
    struct fault fault = {0};
    heap_return_blocks_of(LARGE_BLOCK);
    int r = batch_open(&batch, options, &fault);
    if (r == 0 && batch.shows_progress)
        show_progress(&batch.progress);
    if (r == 0 && (r = loop_run(&batch.loop)) < 0)
        fault_set(&fault, -r, "waiting for runs: %m");
    if (r == 0 && batch.shows_progress)
        print_progress(&batch, "\n");
    if (r == 0)
        r = find_fault(&batch, &fault);
    bool has_no_reader = r == 0 && batch.stream.channel.output_error == EPIPE;
    bool has_errors = r == 0 && batch.stream.counts.not_run + batch.stream.counts.lost > 0;
    batch_close(&batch);
    if (r < 0)
        log_note("%s", fault.text);
    if (batch.signal != 0 || has_no_reader)
        end_signals_die_of(&batch.end_signals, batch.signal != 0 ? batch.signal : SIGPIPE);
    return r < 0 || has_errors ? EXIT_FAILED : EXIT_DONE;
}

/* A snippet that could write to it could forge the results of others. */
static int check_stream(struct batch_options *options, const char *name, int fd,
                        struct fault *fault)
{
    char link[sizeof("/proc/self/fd/") + 10];
    char path[PATH_MAX];
    struct stat about;
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    return own_paths_check_one(&options->settings, name, path, fault);
}

static int check_files(struct batch_options *options, struct fault *fault)
{
    int r = check_stream(options, "the calls on stdin", STDIN_FILENO, fault);
    if (r == 0)
        r = check_stream(options, "where the results go", STDOUT_FILENO, fault);
    return r == 0 && options->resume != NULL
               ? own_paths_check_one(&options->settings, "--resume", options->resume, fault)
               : r;
}

static void batch_options_release(struct batch_options *options)
{
    settings_release(&options->settings);
}

static int batch(const struct command *command, int argc, char **argv)
{
    OWNED(batch_options_release) struct batch_options options = {.settings = settings_default()};
    void *const data[] = {&options, &options.settings, &options.settings, &options.settings,
                          &options.settings};
    struct fault fault = {0};
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    int r = operands > 0 ? fault_set(&fault, EINVAL,
                                     "\"%.*s\" is not expected here: batch reads calls from stdin",
                                     command_shown_length(argv[0]), argv[0])
                         : settings_read(&options.settings, &fault);
    if (r == 0)
        r = check_files(&options, &fault);
    if (r == 0)
        r = settings_read_check_server(&options.settings, &fault);
    if (r == 0)
        r = settings_read_workers(&options.settings, &fault);
    if (r == 0)
        r = rules_try(options.settings.policy, &fault);
    if (r < 0)
        return command_refuse(command, &fault);
    options.settings.sessions = 0;
    if (options.settings.fleet.url == NULL) {
        tier_choose(&options.settings);
        rlimit_notes_log(&options.settings.limits);
    }
    return run_batch(&options);
}

static const struct option *const batch_options[] = {
    own_options, settings_of_callers, settings_of_broker, settings_of_runs, settings_of_many, NULL};

const struct command command_batch = {
    .name = "batch",
    .usage = "batch [OPTION...] <CALLS >RESULTS",
    .summary = "run many snippets, a line of JSON each",
    .help =
        "Reads calls from stdin, a line of JSON each: {\"language\": \"python\", \"code\": \"print(1)\"}, where\n"
        "needed with \"id\", \"stdin\", \"files\" and \"timeout_seconds\"; runs them, as many at once as there are\n"
        "processors; and writes a line of JSON for each, as it ends: id, line, stdout, stderr, and the\n"
        "record of the run, or an error. The first signal to end lets what runs come to its end, the\n"
        "second does not wait. Exit status: 0 every snippet ran, whatever it did; 1 some did not, or\n"
        "batch failed; 2 wrong usage.\n",
    .options = batch_options,
    .run = batch,
};
