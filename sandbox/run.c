/*
 * How a run works.
 *
 * server ── clone3 ──> init (pid 1 of the jail) ── clone ──> program, its children
 *
 * The server is one process with one loop. engine_submit() plans the jail in memory and queues the
 * run. run_start() creates the run's cgroup, if possible, and everything that the child inherits;
 * clones the child into the cgroup and new namespaces; maps one uid and one gid into the child's
 * user namespace; lets it continue and hands it the code. The child, a copy of the server that
 * makes system calls only, builds the jail from the plan (sandbox/jail/child/jail.c), drops its
 * capabilities, installs the filter, stores the code, clones the program and becomes init.
 *
 * The two share: `control`, on which the child sends reports (READY, ENDED, or FAILED with the
 * step) and receives the parent's words; memory for the code and the input files; a pipe each for
 * the program's stdin, if it has one, stdout and stderr, or one for both; a socket for descriptors of files to collect;
 * and a pidfd, readable when init, and with it the whole pid namespace, is gone. A prewarmed sandbox
 * (sandbox/warm_pool.h) has all of this, and the program.
 *
 * READY comes right before execve, or before the code goes to a prewarmed program, and starts the
 * clock. FAILED, or an end without READY, means that the sandbox failed: nothing of the snippet has
 * run, and if the sandbox was prewarmed, a second attempt starts in a new one. After READY,
 * whatever happens is the snippet's result. When the program ends, or is stopped without a cgroup
 * to kill, init kills and reaps all other processes, reports ENDED and exits; if that takes too
 * long, the server kills init, and the kernel the rest. On ENDED, or else when the pidfd becomes
 * readable, the server drains the pipes and calls done. The pidfd ends the run: the server reaps
 * init, and the slot is free for the next run. However the server dies, init gets its death signal,
 * and init's death kills the rest.
 *
 * In tiers without namespaces, a guard above init takes the part of the pid namespace, and the pidfd is the guard's:
 * sandbox/jail/child/guard.c.
 */
#include "sandbox/run.h"

#include "sandbox/base/owned.h"
#include "sandbox/interpreter_template.h"
#include "sandbox/jail/folders/file_clock.h"
#include "sandbox/jail/setup_error.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_end.h"
#include "sandbox/run_files.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#define READ_SIZE 65536

static void on_control(struct loop_watch *watch, uint32_t events);
static void on_stdout(struct loop_watch *watch, uint32_t events);
static void on_stderr(struct loop_watch *watch, uint32_t events);
static void on_end(struct loop_watch *watch, uint32_t events);
static void on_deadline(struct loop_timer *timer);
static void on_exceeded(struct limiter *limiter, enum run_outcome outcome);
static void on_unreadable(struct limiter *limiter);
static void on_went_on(struct limiter *limiter);

static void arm_deadline(struct run *run, int64_t milliseconds)
{
    loop_arm(run->host->loop, &run->attempt.deadline,
             clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND);
}

static int watch_sandbox(struct run *run)
{
    struct loop *loop = run->host->loop;
    struct attempt *attempt = &run->attempt;
    const struct sandbox *sandbox = &attempt->limited.sandbox;
    attempt->control.ready = on_control;
    attempt->out.ready = on_stdout;
    attempt->err.ready = on_stderr;
    attempt->end.ready = on_end;
    attempt->deadline.fire = on_deadline;
    int r = loop_watch(loop, &attempt->control, sandbox->control_fd, EPOLLIN);
    if (r == 0)
        r = loop_watch(loop, &attempt->out, sandbox->stdout_fd, EPOLLIN);
    if (r == 0 && sandbox->stderr_fd >= 0)
        r = loop_watch(loop, &attempt->err, sandbox->stderr_fd, EPOLLIN);
    if (r == 0)
        r = loop_watch(loop, &attempt->end, sandbox->pidfd, EPOLLIN);
    return r;
}

/*
 * Opens the program's stdin. Bytes go into the pipe before the program starts, which then finds them
 * at once. A descriptor is read only when no second attempt can follow, because reading consumes it.
 */
static int start_stdin(struct run *run, enum stdin_kind kind, struct fault *fault)
{
    struct attempt *attempt = &run->attempt;
    if (run->stdin_source.kind != kind || kind == STDIN_EMPTY)
        return 0;
    int r = stdin_pump_open(&attempt->stdin_pump, run->host->loop, &run->stdin_source,
                            fd_take(&attempt->limited.sandbox.stdin_fd));
    return r < 0 ? fault_set(fault, -r, "cannot pass stdin on to a sandbox: %m") : 0;
}

/* Whether the child waits for the code now. That of a session may have it already, or wait for cells. */
static bool wants_code(const struct run *run)
{
    enum session_kind session = plan_jail(run->design.plan)->session;
    return session == SESSION_NONE || (session == SESSION_LIVE && run->attempt.start == START_COLD);
}

/* The parent's part of the set-up; everything later is a reaction to events. */
static int attempt_start(struct run *run, struct fault *fault)
{
    struct attempt *attempt = &run->attempt;
    struct limited_sandbox *limited = &attempt->limited;
    *attempt = ATTEMPT_NONE;
    attempt->result.queued_ns = clock_now() - run->submitted_at;
    capture_open(&attempt->result.out, run->design.limits.output_kept);
    capture_open(&attempt->result.err, run->design.limits.output_kept);
    int r = 0;
    if (run->may_be_warm && warm_pool_take(run->pool, &run->design, limited))
        attempt->start = limited->origin.data != NULL ? START_FORKED : START_PREWARMED;
    else
        r = limited_sandbox_start(limited, run->host, &run->design, fault);
    limited->limiter.exceeded = on_exceeded;
    limited->limiter.unreadable = on_unreadable;
    limited->limiter.went_on = on_went_on;
    if (r == 0)
        r = start_stdin(run, STDIN_BYTES, fault);
    struct file_clock clock = {0};
    if (r == 0)
        r = file_clock_read(&clock, fault);
    attempt->fed_at = clock.after;
    if (r == 0 && wants_code(run))
        r = sandbox_feed(&limited->sandbox, &run->parcel, fault);
    if (r < 0)
        return r;
    r = watch_sandbox(run);
    if (r < 0)
        return fault_set(fault, -r, "cannot watch a sandbox: %m");
    arm_deadline(run, attempt->start == START_COLD ? SETUP_MAX_MS : SETUP_WARM_MAX_MS);
    return 0;
}

int run_start(struct run *run, struct fault *fault)
{
    sandbox_host_lower_limits(run->host, &run->design.limits);
    return attempt_start(run, fault);
}

static void attempt_release(struct run *run)
{
    struct loop *loop = run->host->loop;
    struct attempt *attempt = &run->attempt;
    loop_unwatch(loop, &attempt->control);
    loop_unwatch(loop, &attempt->out);
    loop_unwatch(loop, &attempt->err);
    loop_unwatch(loop, &attempt->end);
    stdin_pump_close(&attempt->stdin_pump);
    loop_disarm(loop, &attempt->deadline);
    limited_sandbox_release(&attempt->limited);
    run_result_release(&attempt->result);
}

/* A prewarmed sandbox failed before it ran any code; the second attempt gets a new one. */
static void run_start_over(struct run *run)
{
    template_note_failure(&run->attempt.limited);
    attempt_release(run);
    run->may_be_warm = false;
    struct fault fault = {0};
    int r = attempt_start(run, &fault);
    if (r == 0)
        return;
    run->observer.done(run->observer.data, r, NULL, &fault);
    run->ended(run);
}

void run_stop(struct run *run, enum run_outcome outcome)
{
    struct attempt *attempt = &run->attempt;
    if (attempt->stage > ATTEMPT_RUNNING)
        return;
    attempt->stage = ATTEMPT_STOPPED;
    attempt->result.outcome = outcome;
    if (!limiter_kill(&attempt->limited.limiter))
        sandbox_stop(&attempt->limited.sandbox);
    arm_deadline(run, STOP_MAX_MS);
}

static void on_exceeded(struct limiter *limiter, enum run_outcome outcome)
{
    struct run *run = container_of(limiter, struct run, attempt.limited.limiter);
    if (run->exceeded == NULL || !run->exceeded(run, outcome))
        run_stop(run, outcome);
}

void run_kill(struct run *run)
{
    limited_sandbox_kill(&run->attempt.limited);
}

void run_fail(struct run *run, int status)
{
    if (run->attempt.status == 0)
        run->attempt.status = status;
    run_kill(run);
}

/* No run continues without limits. */
static void on_unreadable(struct limiter *limiter)
{
    struct run *run = container_of(limiter, struct run, attempt.limited.limiter);
    fault_identify(&run->attempt.fault, "usage_unreadable");
    run_fail(run,
             fault_set(&run->attempt.fault, EACCES,
                       "the run was ended, because its resource usage could not be read, which "
                       "limits it where there is no cgroup, or copies of folders are on disk: "
                       "/proc/PID/root, fd or task/TID/children of its processes cannot be read. "
                       "Is /proc mounted with hidepid, or without CONFIG_PROC_CHILDREN?"));
}

static void on_went_on(struct limiter *limiter)
{
    struct run *run = container_of(limiter, struct run, attempt.limited.limiter);
    fault_identify(&run->attempt.fault, "lost");
    run_fail(run, fault_set(&run->attempt.fault, EPERM,
                            "its code made itself go on between calls, when it has to be stopped"));
}

/* Whether a new sandbox can still replace a prewarmed one that failed. */
static bool can_start_over(const struct run *run)
{
    const struct attempt *attempt = &run->attempt;
    return attempt->start != START_COLD && attempt->stage == ATTEMPT_SETTING_UP &&
           attempt->status == 0 && run->observer.done != NULL;
}

static void on_deadline(struct loop_timer *timer)
{
    struct run *run = container_of(timer, struct run, attempt.deadline);
    struct attempt *attempt = &run->attempt;
    if (can_start_over(run)) {
        run_start_over(run);
    } else if (attempt->stage == ATTEMPT_SETTING_UP) {
        fault_identify(&attempt->fault, "set_up_timeout");
        run_fail(run, fault_set(&attempt->fault, ETIMEDOUT,
                                "a sandbox was not ready after %d s; is this machine very busy?",
                                SETUP_MAX_MS / 1000));
    } else if (attempt->stage >= ATTEMPT_STOPPED) {
        if (attempt->was_killed)
            sandbox_end_template(&attempt->limited.sandbox);
        attempt->was_killed = true;
        run_kill(run);
        arm_deadline(run, STOP_MAX_MS);
    } else {
        run_stop(run, OUTCOME_TIMED_OUT);
    }
}

int run_signal(struct run *run, int signal_number)
{
    if (run->attempt.stage != ATTEMPT_RUNNING)
        return -ESRCH;
    int r = sandbox_say(&run->attempt.limited.sandbox,
                        signal_number == SIGINT ? WORD_INTERRUPT : WORD_TERMINATE);
    return r == -EPIPE ? 0 : r; /* it has just ended, as will be seen */
}

void run_check_limits(struct run *run)
{
    struct loop_timer *deadline = &run->attempt.deadline;
    limiter_check(&run->attempt.limited.limiter);
    if (!deadline->armed || deadline->deadline > clock_now())
        return;
    loop_disarm(run->host->loop, deadline);
    on_deadline(deadline);
}

static void watch_folders(struct run *run)
{
    const struct folders *folders = run->guard.folders;
    for (size_t i = 0; folders != NULL && i < folders->count; i++)
        if (folders->list[i].mode == FOLDER_WRITABLE)
            limiter_watch_space(&run->attempt.limited.limiter, folders->list[i].fd);
}

static void run_begin(struct run *run)
{
    struct attempt *attempt = &run->attempt;
    attempt->stage = ATTEMPT_RUNNING;
    parcel_release(&run->parcel);
    attempt->started_at = clock_now();
    if (run->session == NULL)
        arm_deadline(run, run->design.limits.wall_ms);
    else
        loop_disarm(run->host->loop, &attempt->deadline);
    watch_folders(run);
    limiter_begin(&attempt->limited.limiter, run->host->loop, attempt->limited.sandbox.pid);
    int r = start_stdin(run, STDIN_DESCRIPTOR, &attempt->fault);
    if (r < 0)
        run_fail(run, r);
}

/* The program has ended: stop measuring its time. */
static void stop_clock(struct attempt *attempt)
{
    if (attempt->started_at != 0 && attempt->result.duration_ns == 0)
        attempt->result.duration_ns = clock_now() - attempt->started_at;
}

static void take_report(struct run *run, const struct child_report *report)
{
    struct attempt *attempt = &run->attempt;
    switch (report->kind) {
    case REPORT_READY:
        if (attempt->stage == ATTEMPT_SETTING_UP) /* once: it starts the clock */
            run_begin(run);
        break;
    case REPORT_ENDED:
        if (attempt->report.kind == REPORT_ENDED) /* once: it arms a deadline for init's exit */
            break;
        attempt->report = *report;
        if (attempt->stage < ATTEMPT_STOPPED)
            attempt->stage = ATTEMPT_ENDED;
        stop_clock(attempt);
        arm_deadline(run, STOP_MAX_MS);
        break;
    case REPORT_FAILED:
        run_fail(run, setup_error_explain_run(plan_jail(run->design.plan), report, &run->parcel,
                                              &attempt->fault));
        break;
    default:
        break;
    }
    if (run->reported != NULL && report->kind != REPORT_ENDED && report->kind != REPORT_FAILED)
        run->reported(run, report);
}

/* Processes all available reports. False: the run must start over. */
static bool take_reports(struct run *run)
{
    struct child_report report;
    while (sandbox_read_report(&run->attempt.limited.sandbox, &report) == 0) {
        if (report.kind != REPORT_READY && can_start_over(run))
            return false;
        take_report(run, &report);
    }
    return true;
}

void run_take_reports(struct run *run)
{
    take_reports(run);
}

/* Reads one piece of output. Positive: its length; 0: the end; -EAGAIN: nothing there now. */
static ssize_t read_output(struct run *run, enum output_stream stream)
{
    static char bytes[READ_SIZE]; /* not on the stack, whose pages each clone must copy */
    const struct sandbox *sandbox = &run->attempt.limited.sandbox;
    struct run_result *result = &run->attempt.result;
    int fd = stream == OUTPUT_STDOUT ? sandbox->stdout_fd : sandbox->stderr_fd;
    ssize_t length = read(fd, bytes, sizeof(bytes));
    if (length <= 0)
        return length == 0 ? 0 : -errno;
    capture_add(stream == OUTPUT_STDOUT ? &result->out : &result->err, bytes, (size_t)length);
    if (run->observer.output != NULL)
        run->observer.output(run->observer.data, stream, bytes, (size_t)length);
    if (result->out.total + result->err.total > run->design.limits.output_total)
        run_stop(run, OUTCOME_OUTPUT_LIMIT);
    return length;
}

/* One piece at a time, so that one run's flood does not block the others. */
static void take_output(struct run *run, struct loop_watch *watch, enum output_stream stream)
{
    ssize_t r = read_output(run, stream);
    if (r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR))
        loop_unwatch(run->host->loop, watch);
}

static void on_stdout(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    take_output(container_of(watch, struct run, attempt.out), watch, OUTPUT_STDOUT);
}

static void on_stderr(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    take_output(container_of(watch, struct run, attempt.err), watch, OUTPUT_STDERR);
}

/* Reads at most the pipe's capacity, so that a surviving writer cannot keep us here. */
static void drain_output(struct run *run, enum output_stream stream)
{
    const struct sandbox *sandbox = &run->attempt.limited.sandbox;
    ssize_t left =
        fcntl(stream == OUTPUT_STDOUT ? sandbox->stdout_fd : sandbox->stderr_fd, F_GETPIPE_SZ);
    for (ssize_t length; left > 0 && (length = read_output(run, stream)) > 0;)
        left -= length;
}

void run_drain(struct run *run)
{
    drain_output(run, OUTPUT_STDOUT);
    if (run->attempt.limited.sandbox.stderr_fd >= 0)
        drain_output(run, OUTPUT_STDERR);
}

static void collect_files(struct run *run)
{
    OWNED(run_directories_close) struct run_directories directories;
    run_directories_receive(run->attempt.limited.sandbox.files_fd, run->guard.folders,
                            &directories);
    const struct run_files_source source = {
        .directories = &directories,
        .code_name = plan_jail(run->design.plan)->code_name,
        .inputs = {run->attempt.limited.sandbox.code_fd, run->parcel.code_length,
                   run->parcel.file_count},
        .guard = &run->guard,
        .files_max = run->files_max,
        .folders_since = run->attempt.fed_at,
        .uppers = &run->attempt.limited.uppers,
    };
    run_files_collect(&source, &run->attempt.result);
}

/* Every process of the sandbox is dead, except perhaps init, which has finished its work. */
static void run_answer(struct run *run)
{
    struct attempt *attempt = &run->attempt;
    limited_sandbox_ask_network(&attempt->limited, true);
    run_drain(run);
    loop_unwatch(run->host->loop, &attempt->out);
    loop_unwatch(run->host->loop, &attempt->err);
    stdin_pump_close(&attempt->stdin_pump);
    capture_end(&attempt->result.out);
    capture_end(&attempt->result.err);
    run_end_complete(run);
    if (run->observer.done != NULL && attempt->status == 0 && run->session == NULL) {
        collect_files(run);
        run->is_compared = true;
    }
    attempt->result.network = limited_sandbox_take_network(&attempt->limited);
    attempt->stage = ATTEMPT_ANSWERED;
    if (run->observer.done != NULL) /* NULL: cancelled */
        run->observer.done(run->observer.data, attempt->status,
                           attempt->status == 0 ? &attempt->result : NULL, &attempt->fault);
}

static void on_control(struct loop_watch *watch, uint32_t events)
{
    struct run *run = container_of(watch, struct run, attempt.control);
    if (!take_reports(run)) {
        run_start_over(run);
        return;
    }
    if ((events & (EPOLLHUP | EPOLLERR)) != 0)
        loop_unwatch(run->host->loop, watch);
    if (run->attempt.stage == ATTEMPT_ENDED)
        run_answer(run);
}

static void on_end(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct run *run = container_of(watch, struct run, attempt.end);
    struct attempt *attempt = &run->attempt;
    if (!take_reports(run) || can_start_over(run)) {
        run_start_over(run);
        return;
    }
    stop_clock(attempt);
    struct rusage usage;
    sandbox_reap(&attempt->limited.sandbox, &usage);
    if (attempt->stage < ATTEMPT_ENDED)
        attempt->report.usage = usage;
    if (attempt->stage < ATTEMPT_ANSWERED)
        run_answer(run);
    if (attempt->status == 0 && attempt->started_at != 0 && run->may_be_warm &&
        run->session == NULL)
        warm_pool_learn(run->pool, &run->design);
    run->ended(run);
}

void run_abandon(struct run *run)
{
    run->observer = (struct run_observer){0};
    stdin_pump_close(&run->attempt.stdin_pump);
    run->stdin_source = (struct run_stdin){0};
    run_kill(run);
}

size_t run_held_bytes(const struct run *run)
{
    return run->parcel.length + run->stdin_source.length;
}

/* Nobody asked for the result, or there is none: what the run left in folders is there all the same. */
static void tell_appeared(struct run *run)
{
    OWNED(folder_changes_release) struct folder_changes changes = {0};
    if (run->is_compared)
        return;
    folder_guard_compare(&run->guard, &changes);
    sandbox_host_tell(run->host, &changes);
}

void run_free(struct run *run)
{
    attempt_release(run);
    tell_appeared(run);
    sandbox_design_release(&run->design);
    parcel_release(&run->parcel);
    folder_guard_release(&run->guard);
    free(run->stdin_bytes);
    free(run);
}
