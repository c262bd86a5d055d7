#include "tests/fuzz/fake-launcher.h"

#include "sandbox/base/owned.h"
#include "sandbox/capture.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_inputs.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/random.h>

static void unlink_run(struct run *run)
{
    struct run **at = &run->launcher->engine->first;
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    if (run->end.armed)
        loop_disarm(run->launcher->loop, &run->end);
}

static void free_run(struct run *run)
{
    unlink_run(run);
    parcel_release(&run->parcel);
    free(run->stdin_bytes);
    free(run->code);
    free(run);
}

static struct run_result make_result(const struct run *run)
{
    unsigned char first = run->length > 0 ? (unsigned char)run->code[0] : 0;
    struct run_result result = {
        .outcome = first % OUTCOME_COUNT,
        .session = run->session != NULL ? SESSION_KEPT : SESSION_UNUSED,
        .exit_code = first % OUTCOME_COUNT == OUTCOME_EXITED ? first & 1 : -1,
        .signal = first % OUTCOME_COUNT == OUTCOME_SIGNALED ? 9 : 0,
        .limits = run->launcher->settings->limits,
        .isolation = "none",
    };
    capture_open(&result.out, result.limits.output_kept);
    capture_open(&result.err, result.limits.output_kept);
    FUZZ_CHECK(capture_add(&result.out, run->code, run->length) == 0);
    return result;
}

static void end_run(struct run *run)
{
    const struct fault fault = {"it failed"};
    OWNED(run_result_release) struct run_result result = make_result(run);
    bool has_failed = run->length > 0 && run->code[0] == FAKE_FAILED;
    struct run_observer observer = run->observer;
    if (run->session != NULL)
        fake_calls_end(run->session, true);
    observer.output(observer.data, OUTPUT_STDOUT, run->code, run->length);
    observer.output(observer.data, OUTPUT_STDERR, run->code, run->length / 2);
    observer.done(observer.data, has_failed ? -EIO : 0, has_failed ? NULL : &result, &fault);
    free_run(run);
}

static void on_end(struct loop_timer *timer)
{
    end_run(container_of(timer, struct run, end));
}

void fake_launcher_end_runs(struct launcher *launcher)
{
    while (launcher->engine != NULL && launcher->engine->first != NULL)
        end_run(launcher->engine->first);
}

/* The first handle is the same for each input: its letters are "abcdef". */
static unsigned char last_random;

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = last_random++;
    return (ssize_t)length;
}

struct launcher launcher_of(struct loop *loop, const struct settings *settings)
{
    last_random = 0;
    return (struct launcher){.loop = loop, .settings = settings};
}

void launcher_prewarm(struct launcher *launcher)
{
    (void)launcher;
}

void launcher_release(struct launcher *launcher)
{
    while (launcher->engine != NULL && launcher->engine->first != NULL)
        free_run(launcher->engine->first);
    while (launcher->engine != NULL && launcher->engine->sessions != NULL)
        session_end(launcher->engine->sessions);
    free(launcher->engine);
    launcher->engine = NULL;
}

void launcher_look(void *data, struct metrics_now *ret_now)
{
    (void)data;
    *ret_now = (struct metrics_now){0};
}

void launcher_hold(struct launcher *launcher, enum hold reason, bool hold)
{
    (void)launcher;
    (void)reason;
    (void)hold;
}

/* A copy, as the engine makes one. */
static void take_input(struct run *run, const struct snippet *snippet)
{
    const struct run_spec spec = {
        .code = snippet->code,
        .code_length = snippet->length,
        .inputs = snippet->inputs,
        .input_count = snippet->input_count,
    };
    const struct run_stdin *source = &snippet->stdin_source;
    FUZZ_CHECK(parcel_make(&spec, &run->parcel) == 0);
    run->has_stdin = source->kind != STDIN_EMPTY;
    run->stdin_length = source->length;
    run->stdin_bytes = malloc(source->length + 1);
    FUZZ_CHECK(run->stdin_bytes != NULL);
    if (source->length > 0)
        memcpy(run->stdin_bytes, source->bytes, source->length);
}

static void make_engine(struct launcher *launcher)
{
    if (launcher->engine == NULL)
        launcher->engine = calloc(1, sizeof(*launcher->engine));
    FUZZ_CHECK(launcher->engine != NULL);
}

int launcher_start(struct launcher *launcher, const struct snippet *snippet,
                   const struct run_observer *observer, struct launched *ret_launched,
                   struct fault *fault)
{
    FUZZ_CHECK(snippet->language != NULL && snippet->length <= CODE_MAX);
    FUZZ_CHECK(snippet->code[snippet->length] == '\0');
    FUZZ_CHECK(snippet->wall_ms >= 0 && snippet->wall_ms <= launcher->settings->wall_max_ms);
    FUZZ_CHECK(run_inputs_check(snippet->inputs, snippet->input_count, snippet->language->code_name,
                                NULL) == 0);
    FUZZ_CHECK(snippet->stdin_source.length <= STDIN_MAX);
    if (snippet->length > 0 && snippet->code[0] == FAKE_REFUSED)
        return fault_set(fault, EAGAIN, "refused: %m");
    make_engine(launcher);
    struct run *run = calloc(1, sizeof(*run));
    char *code = malloc(snippet->length + 1);
    FUZZ_CHECK(run != NULL && code != NULL);
    memcpy(code, snippet->code, snippet->length + 1);
    *run = (struct run){
        .next = launcher->engine->first,
        .launcher = launcher,
        .observer = *observer,
        .end = {.fire = on_end},
        .code = code,
        .length = snippet->length,
        .wall_ms = snippet->wall_ms,
    };
    take_input(run, snippet);
    launcher->engine->first = run;
    if (launcher->loop != NULL)
        loop_arm(launcher->loop, &run->end, clock_now());
    ret_launched->run = run;
    return 0;
}

int launcher_choose_image(const struct settings *settings, const char *name, const char **ret_image,
                          const struct language **ret_language, struct fault *fault)
{
    (void)settings;
    if (name != NULL && name[0] == FAKE_REFUSED)
        return fault_set(fault, ENOENT, "refused: %m");
    *ret_language = languages[0];
    *ret_image = languages[0]->image;
    return 0;
}

int launcher_open_session(struct launcher *launcher, const struct session_wish *wish,
                          const struct session_observer *observer, struct live_session *ret_live,
                          struct fault *fault)
{
    (void)fault;
    FUZZ_CHECK(wish->language->session != NULL && observer->ended != NULL);
    make_engine(launcher);
    struct session *session = calloc(1, sizeof(*session));
    FUZZ_CHECK(session != NULL);
    *session = (struct session){
        .next = launcher->engine->sessions, .launcher = launcher, .observer = *observer};
    if (wish->calls != NULL) {
        session->calls_observer = wish->calls->observer;
        session->functions = call_functions_copy(wish->calls->functions);
        FUZZ_CHECK(session->functions != NULL);
    }
    launcher->engine->sessions = session;
    *ret_live = (struct live_session){.session = session,
                                      .languages = {wish->language},
                                      .language_count = 1,
                                      .has_calls = wish->calls != NULL};
    return 0;
}

/* A cell is a run that the session knows of. */
int launcher_continue(struct launcher *launcher, struct live_session *live,
                      const struct snippet *snippet, const struct run_observer *observer,
                      struct cell **ret_cell, struct fault *fault)
{
    struct launched launched = {0};
    int r = launcher_start(launcher, snippet, observer, &launched, fault);
    if (r < 0)
        return r;
    FUZZ_CHECK(launched.run != NULL);
    launched.run->session = live->session;
    *ret_cell = (struct cell *)launched.run;
    fake_calls_begin(live->session, snippet);
    return 0;
}

int session_look(struct session *session, const struct run_observer *observer,
                 struct cell **ret_cell, struct fault *fault)
{
    const struct snippet nothing = {.language = languages[0], .code = ""};
    struct live_session live = {.session = session};
    return launcher_continue(session->launcher, &live, &nothing, observer, ret_cell, fault);
}

bool launcher_has_program(const struct live_session *live, const char *program)
{
    return live->session != NULL && program[0] != '\0';
}

bool launcher_may_continue(const struct live_session *live, const struct language *language)
{
    return language == live->languages[0];
}

void session_folders_read(struct session *session)
{
    (void)session;
}

bool cell_is_queued(const struct cell *cell)
{
    const struct run *run = (const struct run *)cell;
    return (run->session == NULL || run->session->calls == NULL) && run->length % 2 == 0;
}

void cell_cancel(struct cell *cell)
{
    free_run((struct run *)cell);
}

/* Of a session that is gone. */
static void refuse_run(struct run *run)
{
    const struct run_observer observer = run->observer;
    const struct fault fault = {.text = "its session has ended"};
    free_run(run);
    observer.done(observer.data, -ESRCH, NULL, &fault);
}

void session_stop(struct session *session)
{
    struct engine *engine = session->launcher->engine;
    const struct run_result result = {.outcome = OUTCOME_CANCELLED};
    fake_calls_end(session, true);
    session->observer.ended(session->observer.data, 0, &result, NULL);
    for (struct run *run = engine->first; run != NULL;) {
        bool is_meant = run->session == session;
        struct run *next = run->next;
        if (is_meant)
            refuse_run(run);
        run = is_meant ? engine->first : next;
    }
    fake_commands_lose(session);
    fake_files_lose(session);
    session_end(session);
}

void session_end(struct session *session)
{
    struct engine *engine = session->launcher->engine;
    fake_commands_forget(session);
    fake_files_forget(session);
    fake_calls_end(session, false);
    for (struct run *run = engine->first, *next; run != NULL; run = next) {
        next = run->next;
        if (run->session == session)
            free_run(run);
    }
    struct session **place = &engine->sessions;
    while (*place != session)
        place = &(*place)->next;
    *place = session->next;
    call_functions_free(session->functions);
    free(session);
}

bool launched_goes_on(const struct launched *launched)
{
    return launched->run != NULL;
}

bool launched_is_compiling(const struct launched *launched)
{
    (void)launched;
    return false;
}

bool launched_is_queued(const struct launched *launched)
{
    return launched->run->length % 2 == 0;
}

void launched_cancel(const struct launched *launched)
{
    free_run(launched->run);
}

/* The same on every machine. */
struct run_limits run_limits_default(void)
{
    return (struct run_limits){
        .wall_ms = RUN_WALL_DEFAULT_MS,
        .memory_bytes = RUN_MEMORY_DEFAULT,
        .disk_bytes = RUN_DISK_DEFAULT,
        .inodes = RUN_INODES_DEFAULT,
        .processes = RUN_PROCESSES_DEFAULT,
        .millicpus = RUN_MILLICPUS_DEFAULT,
        .descriptors = RUN_DESCRIPTORS_DEFAULT,
        .output_kept = RUN_OUTPUT_KEPT_DEFAULT,
        .output_total = RUN_OUTPUT_TOTAL_DEFAULT,
    };
}

size_t session_checkpoints(const struct session *session, unsigned lane,
                           uint32_t ret_cells[SESSION_CHECKPOINTS_MAX])
{
    (void)session;
    ret_cells[0] = 1;
    return lane == 0 ? 1 : 0;
}
