#include "cli/command.h"
#include "cli/rlimit_notes.h"
#include "fleet/call_stream.h"
#include "interpreter/base/end_signals.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "interpreter/settings/tier_choice.h"
#include "sandbox/base/heap.h"
#include "sandbox/base/owned.h"
#include "sandbox/inherited.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#define LARGE_BLOCK (128 * KIBIBYTE) /* memory blocks of this size are returned when freed */
#define NAME_SIZE 64
#define DRAIN "{\"drain\":true}"

struct worker_options {
    struct settings settings;
    struct fleet_settings fleet; /* with --nats, in place of --workers */
    const char *broker, *name;
};

/* One execution of the command. */
struct worker {
    struct loop loop;
    struct end_signals end_signals;
    struct fleet_process process;
    struct call_stream stream;
    int signals; /* how many have come */
};

#define AT(member) .offset = offsetof(struct worker_options, member)

static const struct option own_options[] = {
    {"--nats", "URL", "the broker, nats://HOST or tls://HOST", option_keep_text, AT(broker)},
    {"--name", "NAME", "of this worker, for messages (the host's name)", option_keep_text,
     AT(name)},
    {0},
};

/* The first one ends the work: what runs comes to its end. The second does not wait. */
static void interrupt(struct end_signals *end_signals, int signal_number)
{
    struct worker *worker = container_of(end_signals, struct worker, end_signals);
    (void)signal_number;
    if (worker->signals++ > 0)
        loop_stop(&worker->loop);
    else
        channel_send(&worker->stream.channel, DRAIN, strlen(DRAIN));
}

static void stream_ended(void *data)
{
    struct worker *worker = data;
    loop_stop(&worker->loop);
}

static int worker_open(struct worker *worker, const struct worker_options *options,
                       struct fault *fault)
{
    static const struct fleet_settings here = {0};
    uint64_t parallel = options->settings.engine.parallel;
    unsigned places = parallel != 0 ? (unsigned)parallel : inherited_processors();
    *worker = (struct worker){
        .loop = {.epoll_fd = -1},
        .end_signals = INTERRUPTS(interrupt),
        .process = FLEET_PROCESS_NONE,
    };
    int r = loop_open(&worker->loop);
    if (r == 0)
        r = end_signals_open(&worker->end_signals, &worker->loop);
    if (r < 0)
        return fault_set(fault, -r, "waiting for calls: %m");
    r = fleet_process_start(&worker->process, FLEET_TAKE, &options->fleet, &options->settings,
                            places, fault);
    if (r < 0)
        return r;
    const struct call_stream_options stream_options = {
        .settings = &options->settings,
        .fleet = &here,
        .is_worker = true,
        .input_fd = worker->process.input_fd,
        .output_fd = worker->process.output_fd,
        .ended = stream_ended,
        .data = worker,
    };
    return call_stream_open(&worker->stream, &worker->loop, &stream_options, fault);
}

/* The exit status of code-sandbox-mcp-fleet, once everything has ended. */
static int worker_close(struct worker *worker)
{
    if (worker->stream.loop != NULL)
        call_stream_close(&worker->stream);
    int status = fleet_process_end(&worker->process);
    end_signals_close(&worker->end_signals);
    loop_close(&worker->loop);
    return status;
}

static int work(const struct worker_options *options)
{
    struct worker worker;
    struct fault fault = {0};
    heap_return_blocks_of(LARGE_BLOCK);
    int r = worker_open(&worker, options, &fault);
    if (r == 0 && (r = loop_run(&worker.loop)) < 0)
        fault_set(&fault, -r, "waiting for calls: %m");
    bool was_told = worker.signals == 1;
    int status = worker_close(&worker);
    if (r < 0)
        log_note("%s", fault.text);
    return r == 0 && was_told && status == 0 ? EXIT_DONE : EXIT_FAILED;
}

static void worker_options_release(struct worker_options *options)
{
    settings_release(&options->settings);
}

static int read_options(struct worker_options *options, int operands, char **argv,
                        struct fault *fault)
{
    int r = 0;
    if (operands > 0)
        r = fault_set(fault, EINVAL, "\"%.*s\" is not expected here", command_shown_length(argv[0]),
                      argv[0]);
    if (r == 0 && options->broker == NULL)
        r = fault_set(fault, EINVAL, "name the broker with --nats, such as nats://127.0.0.1:4222");
    if (r == 0)
        r = settings_read(&options->settings, fault);
    options->fleet = options->settings.fleet;
    options->fleet.url = (char *)options->broker;
    /* Calls run here, whatever the front ends of this machine are told. */
    memory_release(&options->settings.fleet.url);
    options->fleet.name = options->name;
    if (r == 0)
        r = fleet_settings_check(&options->fleet, fault);
    if (r == 0)
        r = settings_read_check_server(&options->settings, fault);
    return r == 0 ? rules_try(options->settings.policy, fault) : r;
}

static int worker(const struct command *command, int argc, char **argv)
{
    OWNED(worker_options_release) struct worker_options options = {.settings = settings_default()};
    void *const data[] = {&options, &options.settings, &options.settings, &options.settings};
    char host[NAME_SIZE] = "";
    struct fault fault = {0};
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    if (read_options(&options, operands, argv, &fault) < 0)
        return command_refuse(command, &fault);
    if (options.name == NULL && gethostname(host, sizeof(host) - 1) == 0)
        options.fleet.name = host;
    options.settings.sessions = 0;
    tier_choose(&options.settings);
    rlimit_notes_log(&options.settings.limits);
    return work(&options);
}

static const struct option *const worker_options[] = {own_options, settings_of_broker,
                                                      settings_of_runs, settings_of_many, NULL};

const struct command command_worker = {
    .name = "worker",
    .usage = "worker --nats URL [OPTION...]",
    .summary = "run the calls of other machines",
    .help =
        "Takes calls from a NATS broker with JetStream, as many as there are processors, and runs each in a\n"
        "sandbox with the settings given here. `batch --workers URL` sends such calls. SIGTERM takes no further\n"
        "call and lets those that run come to their end, for up to 30 s. Exit status: 0 it was told to end,\n"
        "1 it failed, 2 wrong usage.\n",
    .options = worker_options,
    .run = worker,
};
