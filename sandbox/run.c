/*
 * How a run works.
 *
 *   server ── clone3 ──> init (pid 1 of the jail) ── clone ──> program (pid 3), its children
 *
 * The server is one process with one loop. run_submit() plans the jail in memory and queues it;
 * run_start() makes the run's cgroup, if there can be one, and what the child inherits, clones it
 * into the cgroup and new namespaces, maps one uid and one gid to its own, lets it go on and hands
 * it the code. The child, a copy of the server that makes system calls only, builds the jail from
 * the plan (sandbox/jail/child/jail.c), ends behind the filter and without capabilities, stores the code,
 * clones the program and becomes init.
 *
 * Between the two: `control`, where the child writes records (READY, ENDED, or FAILED with the step)
 * and reads one go-ahead and, once the code is there, another; memory for the code; the program's
 * stdout and stderr, one pipe each; and a pidfd, which is readable when init, and so all of its
 * namespace, is gone. Where a sandbox of the kind waits already (sandbox/warm_pool.h), all of that is there,
 * the program too, and the run begins with the code.
 *
 * READY comes right before execve, or before the code goes to a program that waits for it, and starts
 * the clock. A FAILED record, or an end without READY, is our failure: nothing of the snippet has run,
 * and if the sandbox had been made ahead, another one is made. After READY whatever happens is the
 * snippet's result. When the program ends, or past a limit where there is no cgroup to kill, init kills
 * and reaps what is left, reports ENDED and exits; should that take long, the server kills init, and
 * the kernel the rest. On ENDED, or where that does not come when the pidfd tells that init is gone,
 * what is still in the pipes is read, and done called. The pidfd ends the run: init is reaped, and the
 * place is free for the next one.
 *
 * Should the server die, however it dies, its death signal kills init, and init's death the rest.
 */
#include "sandbox/run.h"

#include "sandbox/base/owned.h"
#include "sandbox/capture.h"
#include "sandbox/engine.h"
#include "sandbox/jail/setup_error.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_files.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE 65536

static void on_control(struct loop_watch *watch, uint32_t events);
static void on_stdout(struct loop_watch *watch, uint32_t events);
static void on_stderr(struct loop_watch *watch, uint32_t events);
static void on_end(struct loop_watch *watch, uint32_t events);
static void on_deadline(struct loop_timer *timer);
static void on_exceeded(struct limiter *limiter, enum run_outcome outcome);
static void on_blind(struct limiter *limiter);

static int watch_sandbox(struct run *run)
{
    struct loop *loop = run->engine->loop;
    run->control.ready = on_control;
    run->out.ready = on_stdout;
    run->err.ready = on_stderr;
    run->end.ready = on_end;
    run->deadline.fire = on_deadline;
    int r = loop_watch(loop, &run->control, run->sandbox.control_fd, EPOLLIN);
    if (r == 0)
        r = loop_watch(loop, &run->out, run->sandbox.stdout_fd, EPOLLIN);
    if (r == 0)
        r = loop_watch(loop, &run->err, run->sandbox.stderr_fd, EPOLLIN);
    if (r == 0)
        r = loop_watch(loop, &run->end, run->sandbox.pidfd, EPOLLIN);
    return r;
}

/* What the cgroups around this server leave, init being one process more. */
static void lower_limits(struct run_limits *limits, const struct cgroup_delegation *home)
{
    if (limits->memory_bytes > home->memory_ceiling)
        limits->memory_bytes = home->memory_ceiling;
    if (limits->processes >= home->processes_ceiling)
        limits->processes = home->processes_ceiling - 1;
}

/* A sandbox for the run: one that waits, or a new one. */
static int get_sandbox(struct run *run)
{
    struct engine *engine = run->engine;
    run->warm = !run->cold && warm_pool_take(&engine->pool, run);
    if (run->warm)
        return 0;
    int r = limiter_open(&run->limiter, &engine->home, &engine->enforcement.enforced, &run->limits,
                         &run->fault);
    if (r == 0)
        r = sandbox_spawn(run->plan, &engine->id_map, run->limiter.cgroup.fd, &run->sandbox,
                          &run->fault);
    return r;
}

/* The steps of one run, as far as the parent makes them; the rest are answers to events. */
int run_start(struct run *run)
{
    struct engine *engine = run->engine;
    run->stage = STAGE_SETTING_UP;
    run->result.queued_ns = clock_now() - run->submitted_at;
    capture_open(&run->result.out, run->limits.output_kept);
    capture_open(&run->result.err, run->limits.output_kept);
    lower_limits(&run->limits, &engine->home);
    plan_set_filter(run->plan, &engine->filter);
    int r = get_sandbox(run);
    run->limiter.exceeded = on_exceeded;
    run->limiter.unreadable = on_blind;
    if (r == 0)
        r = sandbox_feed(&run->sandbox, run->code, run->code_length, &run->fault);
    if (r < 0)
        return r;
    r = watch_sandbox(run);
    if (r < 0)
        return fault_set(&run->fault, -r, "cannot watch a sandbox: %m");
    loop_arm(engine->loop, &run->deadline,
             clock_now() + SETUP_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    return 0;
}

static void leave_sandbox(struct run *run)
{
    struct loop *loop = run->engine->loop;
    loop_unwatch(loop, &run->control);
    loop_unwatch(loop, &run->out);
    loop_unwatch(loop, &run->err);
    loop_unwatch(loop, &run->end);
    loop_disarm(loop, &run->deadline);
    sandbox_release(&run->sandbox);
    limiter_release(&run->limiter);
}

/* A sandbox that was made ahead has ended before it was of use; in its place comes one made now. */
static void run_start_over(struct run *run)
{
    leave_sandbox(run);
    run_result_release(&run->result);
    run->result = (struct run_result){0};
    run->sandbox = SANDBOX_NONE;
    run->limiter = LIMITER_NONE;
    run->cold = true;
    run->warm_failed = false;
    int r = run_start(run);
    if (r == 0)
        return;
    run->observer.done(run->observer.data, r, NULL, &run->fault);
    run_free(run);
}

/* Ends the program for a reason of ours; the first one counts. */
static void run_stop(struct run *run, enum run_outcome outcome)
{
    if (run->stopped || run->ended)
        return;
    run->stopped = true;
    run->result.outcome = outcome;
    if (!limiter_kill(&run->limiter))
        sandbox_stop(&run->sandbox);
    loop_arm(run->engine->loop, &run->deadline,
             clock_now() + STOP_MAX_MS * NANOSECONDS_PER_MILLISECOND);
}

static void on_exceeded(struct limiter *limiter, enum run_outcome outcome)
{
    run_stop(container_of(limiter, struct run, limiter), outcome);
}

void run_kill(struct run *run)
{
    limiter_kill(&run->limiter);
    sandbox_kill(&run->sandbox);
}

static void run_fail(struct run *run, int status)
{
    if (run->status == 0)
        run->status = status;
    run_kill(run);
}

/* Nothing goes on without limits. */
static void on_blind(struct limiter *limiter)
{
    struct run *run = container_of(limiter, struct run, limiter);
    run_fail(run,
             fault_set(&run->fault, EACCES,
                       "the run was ended, because what it uses could not be watched, and there is "
                       "no cgroup to limit it: /proc/PID/root or /proc/PID/task/TID/children "
                       "of its processes cannot be read. Is /proc mounted with hidepid, or the "
                       "kernel built without CONFIG_PROC_CHILDREN? With a cgroup neither is "
                       "needed (`code-sandbox-mcp doctor`)"));
}

static void on_deadline(struct loop_timer *timer)
{
    struct run *run = container_of(timer, struct run, deadline);
    if (run->stage == STAGE_SETTING_UP) {
        run_fail(run, fault_set(&run->fault, ETIMEDOUT,
                                "a sandbox was not ready after %d s; is this machine very busy?",
                                SETUP_MAX_MS / 1000));
    } else if (run->stopped) {
        run_kill(run);
    } else {
        run_stop(run, OUTCOME_TIMED_OUT);
    }
}

void run_check_limits(struct run *run)
{
    limiter_check(&run->limiter);
    if (!run->deadline.armed || run->deadline.deadline > clock_now())
        return;
    loop_disarm(run->engine->loop, &run->deadline);
    on_deadline(&run->deadline);
}

static void run_begin(struct run *run)
{
    run->stage = STAGE_RUNNING;
    memory_release(&run->code);
    run->started_at = clock_now();
    loop_arm(run->engine->loop, &run->deadline,
             run->started_at + run->limits.wall_ms * NANOSECONDS_PER_MILLISECOND);
    limiter_begin(&run->limiter, run->engine->loop, run->sandbox.pid);
}

static void run_ended(struct run *run)
{
    if (run->stage == STAGE_RUNNING) {
        run->result.duration_ns = clock_now() - run->started_at;
        run->stage = STAGE_ENDING;
    }
    loop_disarm(run->engine->loop, &run->deadline);
}

/* Whether another sandbox can still take the place of one that came to nothing. */
static bool can_start_over(const struct run *run)
{
    return run->warm && !run->cold && run->stage == STAGE_SETTING_UP && run->status == 0 &&
           !run->stopped && run->observer.done != NULL;
}

/* Reads every record that is there. */
static void read_reports(struct run *run)
{
    struct child_report report;
    while (!run->warm_failed && sandbox_read_report(&run->sandbox, &report) == 0) {
        run->warm_failed = report.kind != REPORT_READY && can_start_over(run);
        if (run->warm_failed)
            break;
        switch (report.kind) {
        case REPORT_READY:
            run_begin(run);
            break;
        case REPORT_ENDED:
            run->ended = !run->stopped;
            run->exit_status = report.status;
            run->disk_full = report.disk_full != 0;
            run->usage = report.usage;
            run_ended(run);
            break;
        case REPORT_FAILED:
            run_fail(run, setup_error_explain(plan_jail(run->plan), plan_image(run->plan), &report,
                                              &run->fault));
            break;
        default:
            break;
        }
    }
}

/* Takes one piece of output. Positive: bytes read; 0: the end; -EAGAIN: nothing there now. */
static ssize_t read_output(struct run *run, enum output_stream stream)
{
    static char bytes[READ_SIZE]; /* not on the stack, whose pages each clone makes to be copied */
    int fd = stream == OUTPUT_STDOUT ? run->sandbox.stdout_fd : run->sandbox.stderr_fd;
    struct capture *capture = stream == OUTPUT_STDOUT ? &run->result.out : &run->result.err;
    ssize_t length = read(fd, bytes, sizeof(bytes));
    if (length <= 0)
        return length == 0 ? 0 : -errno;
    capture_add(capture, bytes, (size_t)length);
    if (run->observer.output != NULL)
        run->observer.output(run->observer.data, stream, bytes, (size_t)length);
    if (run->result.out.total + run->result.err.total > run->limits.output_total)
        run_stop(run, OUTCOME_OUTPUT_LIMIT);
    return length;
}

/* A piece at a time, so that a flood from one run leaves the loop to the others. */
static void take_output(struct run *run, struct loop_watch *watch, enum output_stream stream)
{
    ssize_t r = read_output(run, stream);
    if (r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR))
        loop_unwatch(run->engine->loop, watch);
}

static void on_stdout(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    take_output(container_of(watch, struct run, out), watch, OUTPUT_STDOUT);
}

static void on_stderr(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    take_output(container_of(watch, struct run, err), watch, OUTPUT_STDERR);
}

static void describe_end(struct run *run, bool out_of_memory)
{
    struct run_result *result = &run->result;
    /* Init gone without a word: the kernel killed it, and all with it. */
    int status = run->ended ? run->exit_status : SIGKILL;
    result->exit_code = -1;
    if (run->stopped) {
        /* the outcome is there already */
    } else if (out_of_memory && !run->ended) {
        result->outcome = OUTCOME_OUT_OF_MEMORY;
    } else if (WIFEXITED(status)) {
        result->outcome = OUTCOME_EXITED;
        result->exit_code = WEXITSTATUS(status);
    } else {
        result->outcome = OUTCOME_SIGNALED;
        result->signal = WTERMSIG(status);
    }
    if (result->outcome == OUTCOME_TIMED_OUT)
        result->limits_reached |= REACHED_TIME;
    if (result->out.cut + result->err.cut > 0)
        result->limits_reached |= REACHED_OUTPUT;
    if (run->disk_full)
        result->limits_reached |= REACHED_DISK;
    result->isolation = "namespaces+seccomp";
}

static int explain_early_end(struct run *run, bool out_of_memory)
{
    if (out_of_memory)
        return fault_set(&run->fault, ENOMEM,
                         "the memory limit of %" PRIu64 " bytes is too low for a sandbox to be set "
                         "up in: raise it with --memory",
                         run->limits.memory_bytes);
    return fault_set(&run->fault, EIO,
                     "a sandbox ended while it was being set up, without a word; was it killed, or "
                     "is the machine out of memory?");
}

/* All of the sandbox is dead, but for init perhaps, which has done its work. */
static void run_answer(struct run *run)
{
    /* Every writer is dead, so each pipe holds at most what fits into it, and then its end. */
    while (read_output(run, OUTPUT_STDOUT) > 0)
        ;
    while (read_output(run, OUTPUT_STDERR) > 0)
        ;
    loop_unwatch(run->engine->loop, &run->out);
    loop_unwatch(run->engine->loop, &run->err);
    run->result.limits = run->limits;
    bool killed = !run->ended || run->exit_status == SIGKILL; /* as wait4(2) gives a signal */
    bool out_of_memory = limiter_account(&run->limiter, &run->usage, killed, &run->result);
    if (run->stage != STAGE_ENDING && run->status == 0)
        run->status = explain_early_end(run, out_of_memory);
    describe_end(run, out_of_memory);
    run_files_collect(run->sandbox.files_fd, &run->result);
    run->answered = true;
    if (run->observer.done != NULL) /* else it was cancelled */
        run->observer.done(run->observer.data, run->status, run->status == 0 ? &run->result : NULL,
                           &run->fault);
}

static void on_control(struct loop_watch *watch, uint32_t events)
{
    struct run *run = container_of(watch, struct run, control);
    read_reports(run);
    if (run->warm_failed) {
        run_start_over(run);
        return;
    }
    if ((events & (EPOLLHUP | EPOLLERR)) != 0)
        loop_unwatch(run->engine->loop, watch);
    if (run->ended && !run->answered)
        run_answer(run);
}

static void on_end(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct run *run = container_of(watch, struct run, end);
    struct engine *engine = run->engine;
    read_reports(run);
    if (run->warm_failed || can_start_over(run)) {
        run_start_over(run);
        return;
    }
    run_ended(run);
    struct rusage usage;
    sandbox_reap(&run->sandbox, &usage);
    if (!run->ended)
        run->usage = usage;
    if (!run->answered)
        run_answer(run);
    if (run->status == 0 && run->started_at != 0)
        warm_pool_learn(&engine->pool, run);
    run_free(run);
    engine_wake(engine);
}

void run_free(struct run *run)
{
    leave_sandbox(run);
    run_list_remove(run);
    run_result_release(&run->result);
    plan_free(run->plan);
    if (run->hold_release != NULL)
        run->hold_release(run->hold_data);
    free(run->code);
    free(run);
}
