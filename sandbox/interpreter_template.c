#include "sandbox/interpreter_template.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/child/fork_server.h"
#include "sandbox/jail/forks/template_family.h"
#include "sandbox/limits/limits.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define OWN_PROCESSES 3 /* of Python: template.py */
#define FORK_WORK_MS 50 /* of processor time, for each fork */
#define SLOW_FORK_NS (50 * NANOSECONDS_PER_MILLISECOND) /* the loop waits for each */

/* What a fork has of its template. */
struct fork_hold {
    struct interpreter_template *template;
    pid_t init;
};

struct interpreter_template {
    struct sandbox_host *host;
    struct limited_sandbox limited;
    struct run_limits limits; /* of a run */
    struct loop_watch channel, end;
    struct loop_timer deadline; /* of its start */
    enum template_stage stage;
    void (*changed)(void *data); /* NULL: it was given up */
    void *data;
    int64_t started_at; /* clock_now() */
    uint64_t forks;     /* made; more for each that took long */
    pid_t inits[TEMPLATE_FORKS_MAX]; /* of the forks that are left, each of which holds it */
    size_t init_count;
    char failure[TEMPLATE_FAILURE_SIZE];
};

static void template_free(struct interpreter_template *template)
{
    struct loop *loop = template->host->loop;
    loop_unwatch(loop, &template->channel);
    loop_unwatch(loop, &template->end);
    loop_disarm(loop, &template->deadline);
    limited_sandbox_release(&template->limited);
    free(template);
}

/* The last line that it has printed; "": none. Its start prints little, so that no read is incomplete. */
static void read_last_line(const struct sandbox *sandbox, char *line, size_t size)
{
    char text[512];
    ssize_t length = read(sandbox->stderr_fd, text, sizeof(text) - 1);
    if (length <= 0)
        length = read(sandbox->stdout_fd, text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *newline = strrchr(text, '\n');
    utf8_make_plain(text, true);
    snprintf(line, size, "%.*s", (int)size - 1, newline != NULL ? newline + 1 : text);
    utf8_make_plain(line, false); /* it may have been cut in the middle of a character */
}

/* It will not become ready. `what`: NULL if it has said so itself, or ended without a word. */
static void note_failure(struct interpreter_template *template, const char *what)
{
    char line[TEMPLATE_FAILURE_SIZE / 2];
    if (template->stage != TEMPLATE_STARTING)
        return;
    read_last_line(&template->limited.sandbox, line, sizeof(line));
    if (what == NULL && line[0] == '\0')
        what = "its interpreter ended";
    snprintf(template->failure, sizeof(template->failure), "%s%s%s", what != NULL ? what : "",
             what != NULL && line[0] != '\0' ? ": " : "", line);
}

static void change(struct interpreter_template *template, enum template_stage stage)
{
    struct loop *loop = template->host->loop;
    if (template->stage == stage)
        return;
    template->stage = stage;
    loop_disarm(loop, &template->deadline);
    if (stage == TEMPLATE_FAILED) {
        loop_unwatch(loop, &template->channel);
        loop_unwatch(loop, &template->end);
    }
    if (template->changed != NULL)
        template->changed(template->data);
}

/* What the image prints when the interpreter starts belongs to each run: forks would lack it. */
static bool has_printed(const struct sandbox *sandbox)
{
    int out = 0;
    int err = 0;
    return ioctl(sandbox->stdout_fd, FIONREAD, &out) < 0 ||
           ioctl(sandbox->stderr_fd, FIONREAD, &err) < 0 || out > 0 || err > 0;
}

/* What else runs in its jail would see each fork, and the code of its run. */
static bool has_strangers(const struct interpreter_template *template)
{
    return !template_family_is_known(template->limited.sandbox.pid, template->inits,
                                     template->init_count);
}

/* It says that it is ready. Anything else is a failure. */
static void on_channel(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct interpreter_template *template =
        container_of(watch, struct interpreter_template, channel);
    struct fork_reply reply = {0};
    ssize_t length = read(watch->fd, &reply, sizeof(reply));
    bool is_ready = length == (ssize_t)sizeof(reply) && reply.error == 0 &&
                    template->stage == TEMPLATE_STARTING;
    if (is_ready && has_printed(&template->limited.sandbox)) {
        note_failure(template, "the image prints when Python starts");
        is_ready = false;
    } else if (is_ready && has_strangers(template)) {
        note_failure(template, "the image leaves processes or threads when Python starts");
        is_ready = false;
    } else if (!is_ready) {
        note_failure(template, NULL);
    }
    change(template, is_ready ? TEMPLATE_READY : TEMPLATE_FAILED);
}

static void on_end(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct interpreter_template *template = container_of(watch, struct interpreter_template, end);
    note_failure(template, NULL);
    change(template, TEMPLATE_FAILED);
}

static void on_deadline(struct loop_timer *timer)
{
    struct interpreter_template *template =
        container_of(timer, struct interpreter_template, deadline);
    note_failure(template, "it took too long to start");
    change(template, TEMPLATE_FAILED);
}

static int begin(struct interpreter_template *template, const struct sandbox_design *design)
{
    struct loop *loop = template->host->loop;
    struct sandbox *sandbox = &template->limited.sandbox;
    const struct run_template *source = plan_template_source(design->plan);
    const struct parcel nothing = {0};
    int r = limited_sandbox_start_template(&template->limited, template->host, design, NULL);
    if (r < 0)
        return r;
    ssize_t written = write(sandbox->session.cells[0], source->library, source->library_length);
    if (written != (ssize_t)source->library_length)
        return written < 0 ? -errno : -ENOSPC;
    r = sandbox_feed(sandbox, &nothing, NULL);
    if (r == 0)
        r = loop_watch(loop, &template->channel, sandbox->session.answers[0], EPOLLIN);
    if (r == 0)
        r = loop_watch(loop, &template->end, sandbox->pidfd, EPOLLIN);
    return r;
}

struct interpreter_template *template_start(struct sandbox_host *host,
                                            const struct sandbox_design *design,
                                            void (*changed)(void *data), void *data)
{
    struct interpreter_template *template = malloc(sizeof(*template));
    if (template == NULL)
        return NULL;
    *template = (struct interpreter_template){
        .host = host,
        .limited = LIMITED_SANDBOX_NONE,
        .limits = design->limits,
        .channel = {.fd = -1, .ready = on_channel},
        .end = {.fd = -1, .ready = on_end},
        .deadline = {.fire = on_deadline},
        .changed = changed,
        .data = data,
        .started_at = clock_now(),
    };
    if (begin(template, design) < 0) {
        template_free(template);
        return NULL;
    }
    loop_arm(host->loop, &template->deadline,
             clock_now() + TEMPLATE_START_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    return template;
}

enum template_stage template_stage(const struct interpreter_template *template)
{
    return template->stage;
}

const char *template_failure(const struct interpreter_template *template)
{
    return template->failure;
}

/*
 * Where limits are polled, shared pages count for each process. It may work as long as its start may take, since imports may
 * take longer than a run, and a little for each fork. What is not below its program would be counted nowhere.
 */
bool template_is_past(struct interpreter_template *template)
{
    struct run_limits limits = template->limits;
    limits.memory_bytes *= OWN_PROCESSES;
    limits.processes += OWN_PROCESSES;
    limits.wall_ms = TEMPLATE_START_MAX_MS + FORK_WORK_MS * (int64_t)template->forks;
    limiter_set_limits(&template->limited.limiter, &limits);
    return (template->stage == TEMPLATE_READY && has_strangers(template)) ||
           limiter_is_past(&template->limited.limiter, template->limited.sandbox.pid);
}

void template_kill(struct interpreter_template *template)
{
    limited_sandbox_kill(&template->limited);
    change(template, TEMPLATE_FAILED);
}

bool template_is_worn(const struct interpreter_template *template)
{
    int64_t age = clock_now() - template->started_at;
    return template->forks >= TEMPLATE_FORKS_MAX ||
           age >= TEMPLATE_AGE_MAX_MS * NANOSECONDS_PER_MILLISECOND;
}

static void free_if_unused(struct interpreter_template *template)
{
    if (template->changed == NULL && template->init_count == 0)
        template_free(template);
}

/* A fork is gone, and its pid is anyone's: so it is not known any more. */
static void let_go(void *data)
{
    struct fork_hold *hold = data;
    struct interpreter_template *template = hold->template;
    size_t place = 0;
    while (template->inits[place] != hold->init)
        place++;
    template->inits[place] = template->inits[--template->init_count];
    free(hold);
    free_if_unused(template);
}

static struct interpreter_template *template_of(const struct limited_sandbox *limited)
{
    const struct fork_hold *hold = limited->origin.data;
    return limited->origin.release == let_go ? hold->template : NULL;
}

int template_fork(struct interpreter_template *template, const struct sandbox_design *design,
                  struct limited_sandbox *limited)
{
    const struct sandbox *sandbox = &template->limited.sandbox;
    int64_t begin = clock_now();
    const struct template_end origin = {sandbox->requests_fd, sandbox->pidfd, sandbox->pid};
    struct fork_hold *hold = malloc(sizeof(*hold));
    int r = hold == NULL ? -ENOMEM : -EBUSY;
    if (r == -EBUSY && template->init_count < ARRAY_LENGTH(template->inits) &&
        !has_strangers(template))
        r = limited_sandbox_fork(limited, template->host, design, &origin, NULL);
    if (r < 0) {
        free(hold);
        change(template, TEMPLATE_FAILED);
        return r;
    }
    *hold = (struct fork_hold){template, limited->sandbox.pid};
    limited->origin = (struct run_hold){let_go, hold};
    template->inits[template->init_count++] = hold->init;
    template->forks += clock_now() - begin > SLOW_FORK_NS ? TEMPLATE_FORKS_MAX / 10 : 1;
    return 0;
}

bool template_fork_is_alone(const struct limited_sandbox *limited)
{
    const struct interpreter_template *template = template_of(limited);
    return template == NULL || !has_strangers(template);
}

void template_note_failure(const struct limited_sandbox *limited)
{
    struct interpreter_template *template = template_of(limited);
    if (template != NULL)
        change(template, TEMPLATE_FAILED);
}

void template_give_up(struct interpreter_template *template)
{
    if (template == NULL)
        return;
    template->changed = NULL;
    free_if_unused(template);
}
