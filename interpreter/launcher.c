#include "interpreter/launcher.h"

#include "interpreter/base/helpers.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/mounts_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/inherited.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define UNHEARD_MAX (8 * KIBIBYTE)

struct launcher launcher_of(struct loop *loop, const struct settings *settings)
{
    return (struct launcher){
        .loop = loop,
        .settings = settings,
        .preparer = {.settings = settings},
        .remote = {.loop = loop, .settings = settings},
        .unheard = BUFFER(UNHEARD_MAX),
    };
}

static void on_prewarm_failed(const struct fault *fault)
{
    log_note("a sandbox could not be prewarmed, so calls start their own until one can: %s",
             fault->text);
}

/* Lines that do not fit are in the log. */
static void on_appeared(void *data, const struct folder_changes *changes)
{
    struct launcher *launcher = data;
    OWNED(buffer_release) struct buffer text = BUFFER(UNHEARD_MAX);
    if (mounts_warn(changes, RUN_UNHEARD, &text) < 0)
        return;
    log_note_lines(buffer_string(&text));
    size_t before = launcher->unheard.length;
    int r = before > 0 ? buffer_append(&launcher->unheard, "\n", 1) : 0;
    if (r == 0)
        r = buffer_append(&launcher->unheard, text.data, text.length);
    if (r < 0)
        launcher->unheard.length = before;
}

static void on_has_room(void *data)
{
    compiler_go_on(data);
}

void launcher_prewarm(struct launcher *launcher)
{
    launcher->warm = launcher->settings->engine.warm;
    launcher->preparer.has_templates = launcher->warm > 0;
    launcher->logs_prewarming = true;
}

void launcher_release(struct launcher *launcher)
{
    engine_free(launcher->engine);
    remote_release(&launcher->remote);
    compiler_release(&launcher->compiler);
    launcher->is_released = true;
    launcher->engine = NULL;
    buffer_release(&launcher->unheard);
    memory_release(&launcher->scope_program);
    memory_release(&launcher->network_program);
    for (size_t i = 0; i < LANGUAGES_MAX; i++)
        certificates_release(&launcher->preparer.certificates[i]);
}

void launcher_hold(struct launcher *launcher, enum hold reason, bool hold)
{
    launcher->holds = hold ? launcher->holds | reason : launcher->holds & ~(unsigned)reason;
    if (launcher->engine != NULL)
        engine_hold(launcher->engine, launcher->holds != 0);
}

void launcher_look(void *data, struct metrics_now *ret_now)
{
    const struct launcher *launcher = data;
    struct engine_counts counts = {0};
    if (launcher->settings->fleet.url != NULL) {
        remote_look(&launcher->remote, ret_now);
        return;
    }
    if (launcher->engine != NULL)
        counts = engine_counts(launcher->engine);
    uint64_t parallel = launcher->settings->engine.parallel;
    *ret_now = (struct metrics_now){
        .places = parallel != 0 ? parallel : inherited_processors(),
        .running = counts.running,
        .queued = counts.queued,
    };
}

int launcher_ensure_engine(struct launcher *launcher, struct fault *fault)
{
    const struct settings *settings = launcher->settings;
    if (launcher->engine != NULL)
        return 0;
    /* Without it the engine goes on without a scope, and tells why. */
    if (launcher->scope_program == NULL)
        helpers_find(SCOPE_PROGRAM, SCOPE_FOLDER, &launcher->scope_program);
    struct engine_options options = settings->engine;
    options.scope_program = launcher->scope_program;
    options.warm = launcher->warm;
    options.templates = launcher->preparer.has_templates && settings->template == SWITCH_AUTO;
    options.network_policy = settings->network.mode != NETWORK_OFF ? &settings->network : NULL;
    if (options.network_policy != NULL && launcher->network_program == NULL) {
        int r = helpers_find(NETWORK_PROGRAM, NETWORK_FOLDER, &launcher->network_program);
        if (r < 0)
            return fault_set(fault, -r,
                             "%s, which snippets reach the network through, is not "
                             "installed: %m",
                             NETWORK_PROGRAM);
    }
    options.network_program = launcher->network_program;
    options.appeared = on_appeared;
    options.appeared_data = launcher;
    options.has_room = on_has_room;
    options.has_room_data = &launcher->compiler;
    options.prewarm_failed = launcher->logs_prewarming ? on_prewarm_failed : NULL;
    return engine_new(launcher->loop, &options, &launcher->engine, fault);
}

int launcher_probe(struct launcher *launcher, void (*probed)(void *data), void *data,
                   struct fault *fault)
{
    int r = launcher_ensure_engine(launcher, fault);
    if (r == 0)
        engine_probe(launcher->engine, probed, data);
    return r;
}

static int submit_prepared(struct launcher *launcher, struct preparation *preparation,
                           const struct run_spec *spec, const struct run_observer *observer,
                           struct run **ret_run, struct fault *fault)
{
    int r = launcher_ensure_engine(launcher, fault);
    if (r < 0)
        return r;
    r = engine_submit(launcher->engine, spec, observer, ret_run, fault);
    if (r < 0)
        return fault_set(fault, -r, "starting a run: %m");
    preparation->held = NULL; /* the run's, which may have been the first of many or the last */
    return 0;
}

static int submit_compiled(struct compiler *compiler, struct preparation *preparation,
                           const struct run_spec *spec, const struct run_observer *observer,
                           struct run **ret_run, struct fault *fault)
{
    struct launcher *launcher = container_of(compiler, struct launcher, compiler);
    return submit_prepared(launcher, preparation, spec, observer, ret_run, fault);
}

static int start_compiled(struct launcher *launcher, const struct snippet *snippet,
                          const struct run_observer *observer, struct compiled_run **ret_run,
                          struct fault *fault)
{
    struct compiler *compiler = &launcher->compiler;
    compiler->settings = launcher->settings;
    compiler->preparer = &launcher->preparer;
    compiler->submit = submit_compiled;
    return compiled_run_start(compiler, snippet, observer, ret_run, fault);
}

static int start_run(struct launcher *launcher, const struct snippet *snippet,
                     const struct run_observer *observer, struct run **ret_run, struct fault *fault)
{
    OWNED(preparation_release) struct preparation preparation = {0};
    struct run_spec spec;
    int r = preparation_make(&launcher->preparer, snippet, &preparation, &spec, fault);
    if (r < 0)
        return r;
    spec.may_be_warm = preparation_may_be_warm(snippet);
    return submit_prepared(launcher, &preparation, &spec, observer, ret_run, fault);
}

static int start(struct launcher *launcher, const struct snippet *snippet,
                 const struct run_observer *observer, struct launched *launched,
                 struct fault *fault)
{
    if (launcher->settings->fleet.url != NULL)
        return remote_start(&launcher->remote, snippet, observer, &launched->remote, fault);
    if (snippet->language->compile != NULL)
        return start_compiled(launcher, snippet, observer, &launched->compiled, fault);
    return start_run(launcher, snippet, observer, &launched->run, fault);
}

int launcher_start(struct launcher *launcher, const struct snippet *snippet,
                   const struct run_observer *observer, struct launched *ret_launched,
                   struct fault *fault)
{
    struct launched launched = {0};
    int r = start(launcher, snippet, observer, &launched, fault);
    if (r == 0 && ret_launched != NULL)
        *ret_launched = launched;
    return r;
}

int launched_signal(const struct launched *launched, int signal_number)
{
    if (launched->remote != NULL)
        return -EOPNOTSUPP;
    if (launched->compiled != NULL)
        return compiled_run_signal(launched->compiled, signal_number);
    return launched->run != NULL ? engine_signal(launched->run, signal_number) : -ESRCH;
}

void launched_stop(const struct launched *launched)
{
    if (launched->compiled != NULL)
        compiled_run_stop(launched->compiled);
    else if (launched->run != NULL)
        engine_stop(launched->run);
}

void launched_cancel(const struct launched *launched)
{
    if (launched->remote != NULL)
        remote_cancel(launched->remote);
    else if (launched->compiled != NULL)
        compiled_run_cancel(launched->compiled);
    else if (launched->run != NULL)
        engine_cancel(launched->run);
}

bool launched_is_queued(const struct launched *launched)
{
    if (launched->remote != NULL)
        return remote_is_queued(launched->remote);
    if (launched->compiled != NULL)
        return compiled_run_is_queued(launched->compiled);
    return launched->run != NULL && engine_is_queued(launched->run);
}

bool launched_goes_on(const struct launched *launched)
{
    return launched->run != NULL || launched->remote != NULL || launched->compiled != NULL;
}

bool launched_is_compiling(const struct launched *launched)
{
    return launched->compiled != NULL && compiled_run_is_compiling(launched->compiled);
}

void launched_check_limits(const struct launched *launched)
{
    if (launched->compiled != NULL)
        compiled_run_check_limits(launched->compiled);
    else if (launched->run != NULL)
        engine_check_limits(launched->run);
}
