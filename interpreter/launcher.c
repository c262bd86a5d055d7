#include "interpreter/launcher.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/helpers.h"
#include "interpreter/base/log.h"
#include "interpreter/code_reading.h"
#include "interpreter/settings/mounts_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/inherited.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Certificates, and those of the interpreter. */
#define START_FILES_MAX (2 + PROGRAM_START_FILES_MAX)
#define UNHEARD_MAX (8 * KIBIBYTE)
#define ARGV_MAX 8 /* of a language, with its NULL */

struct launcher launcher_of(struct loop *loop, const struct settings *settings)
{
    return (struct launcher){
        .loop = loop,
        .settings = settings,
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

void launcher_prewarm(struct launcher *launcher)
{
    launcher->warm = launcher->settings->engine.warm;
    launcher->has_templates = launcher->warm > 0;
    launcher->logs_prewarming = true;
}

void launcher_release(struct launcher *launcher)
{
    engine_free(launcher->engine);
    remote_release(&launcher->remote);
    launcher->is_released = true;
    launcher->engine = NULL;
    buffer_release(&launcher->unheard);
    memory_release(&launcher->scope_program);
    memory_release(&launcher->network_program);
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        certificates_release(&launcher->certificates[i]);
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

static int open_image(struct launcher *launcher, const struct language *language,
                      struct used_image **ret_used, struct fault *fault)
{
    const struct settings *settings = launcher->settings;
    const char *name = settings_image(settings, language);
    /* All other sources of it are checked when they are read. */
    if (image_name_check(name, NULL) < 0)
        return fault_set(fault, EINVAL,
                         "CONTAINER_IMAGE=%s is not the name of a fetched image: export the "
                         "container's file system as a tar archive, run `code-sandbox-mcp fetch "
                         "--from FILE --name NAME`, and set CONTAINER_IMAGE=NAME",
                         name);
    OWNED_MEMORY char *store = NULL;
    int r = store_path(&store, fault);
    return r < 0 ? r : image_use(&launcher->used, store, name, ret_used, fault);
}

/*
 * The variables of a run: those of the image, of certificates, then the operator's for the language, which count where
 * both have one. `own`, before those, may be NULL. The array is the caller's, the strings stay where they are. NULL: no
 * memory.
 */
static const char **merge_environment(const struct launcher *launcher, const struct image *image,
                                      const struct language *language, const char *own)
{
    const struct environment *environment = &launcher->settings->environment;
    const char *const *of_certificates = launcher->certificates[language_place(language)].variables;
    size_t count = 0;
    while (image->environment != NULL && image->environment[count] != NULL)
        count++;
    const char **merged =
        calloc(count + CERTIFICATES_VARIABLES + 1 + environment->count + 1, sizeof(*merged));
    if (merged == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        merged[i] = image->environment[i];
    for (size_t i = 0; of_certificates != NULL && i < CERTIFICATES_VARIABLES; i++)
        merged[count++] = of_certificates[i];
    if (own != NULL)
        merged[count++] = own;
    environment_for(environment, language, merged + count);
    return merged;
}

static int ensure_engine(struct launcher *launcher, struct fault *fault)
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
    options.templates = launcher->has_templates && settings->template == SWITCH_AUTO;
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
    options.prewarm_failed = launcher->logs_prewarming ? on_prewarm_failed : NULL;
    return engine_new(launcher->loop, &options, &launcher->engine, fault);
}

int launcher_probe(struct launcher *launcher, void (*probed)(void *data), void *data,
                   struct fault *fault)
{
    int r = ensure_engine(launcher, fault);
    if (r == 0)
        engine_probe(launcher->engine, probed, data);
    return r;
}

/* What the files of a snippet leave of its disk, in whole pages. */
static uint64_t space_beside(const struct snippet *snippet, uint64_t disk)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t taken = (snippet->length + page) / page;
    for (size_t i = 0; i < snippet->input_count; i++)
        taken += (snippet->inputs[i].length + page - 1) / page;
    return disk / page > taken ? (disk / page - taken) * page : 0;
}

/* What all runs of an image have in common. */
struct image_start {
    struct program_start *program; /* owned; NULL: its language has none */
    struct buffer certificates;    /* struct certificates.all */
};

/* What used_image.annex has: those of each language that runs on the image. */
struct image_starts {
    struct image_start *of[LANGUAGE_COUNT]; /* owned; NULL: not made yet */
};

static void start_free(struct image_start *start)
{
    if (start == NULL)
        return;
    if (start->program != NULL)
        program_start_release(start->program);
    free(start->program);
    buffer_release(&start->certificates);
    free(start);
}

static void release_starts(void *data)
{
    struct image_starts *starts = data;
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        start_free(starts->of[i]);
    free(starts);
}

static int make_program_start(const struct launcher *launcher, const struct language *language,
                              const char *const *environment, const struct image *image,
                              struct image_start *start, struct fault *fault)
{
    const struct settings *settings = launcher->settings;
    const struct start_wishes wishes = {
        .modules = settings->preload,
        .figures = !settings->no_images,
        .template = launcher->has_templates && settings->template == SWITCH_AUTO,
        .environment = environment,
    };
    start->program = calloc(1, sizeof(*start->program));
    if (start->program == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    return language->make_start(image, language->argv[0], &wishes, start->program, fault);
}

static int fill_start(struct launcher *launcher, const struct language *language,
                      const char *const *environment, const struct image *image,
                      struct image_start *start, struct fault *fault)
{
    const struct buffer *certificates = &launcher->certificates[language_place(language)].all;
    /* A copy: runs of an image that has been replaced go on with theirs. */
    start->certificates = BUFFER(certificates->length);
    if (buffer_append(&start->certificates, certificates->data, certificates->length) < 0)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    return language->make_start == NULL
               ? 0
               : make_program_start(launcher, language, environment, image, start, fault);
}

/* Made once for all runs of a language on an image: their variables are the same, too. */
static int prepare_start(struct launcher *launcher, const struct language *language,
                         const char *const *environment, struct used_image *used,
                         const struct image_start **ret_start, struct fault *fault)
{
    struct image_starts *starts = used->annex.data;
    if (starts == NULL) {
        starts = calloc(1, sizeof(*starts));
        if (starts == NULL)
            return fault_set(fault, ENOMEM, "starting a run: %m");
        used->annex = (struct image_annex){starts, release_starts};
    }
    struct image_start **place = &starts->of[language_place(language)];
    int r = 0;
    if (*place == NULL) {
        struct image_start *start = calloc(1, sizeof(*start));
        if (start == NULL)
            return fault_set(fault, ENOMEM, "starting a run: %m");
        *place = start;
        r = fill_start(launcher, language, environment, &used->image, start, fault);
    }
    if (r < 0) {
        start_free(*place);
        *place = NULL;
    }
    *ret_start = *place;
    return r;
}

/* What a run_spec borrows until it is submitted. */
struct preparation {
    struct used_image *used; /* owned, until the run has taken it over */
    const char **environment;
    char *start_variables[2]; /* owned */
    struct home_file files[START_FILES_MAX];
    struct run_template template;
    /* Where the program starts elsewhere than beside its code: */
    char *program;     /* owned; the path of the code */
    char *
        module_path; /* owned; NAME=VALUE, if modules are looked for only beside the code; or NULL */
    const char *argv[ARGV_MAX];
};

static void preparation_release(struct preparation *preparation)
{
    image_use_end(preparation->used);
    free(preparation->environment);
    for (size_t i = 0; i < ARRAY_LENGTH(preparation->start_variables); i++)
        free(preparation->start_variables[i]);
    free(preparation->program);
    free(preparation->module_path);
}

/*
 * The files of all runs of an image: certificates, and what the interpreter of a run does before the
 * snippet, if it does anything. Their number, or a negative errno.
 */
static int start_files(struct launcher *launcher, const struct snippet *snippet,
                       struct preparation *preparation, struct fault *fault)
{
    const struct settings *settings = launcher->settings;
    struct home_file *files = preparation->files;
    const struct image_start *start = NULL;
    int r = prepare_start(launcher, snippet->language, preparation->environment, preparation->used,
                          &start, fault);
    if (r < 0 || start == NULL)
        return r;
    size_t count = 0;
    if (start->certificates.length > 0)
        files[count++] = (struct home_file){.path = CERTIFICATES_NAME,
                                            .bytes = start->certificates.data,
                                            .length = start->certificates.length};
    if (start->program == NULL)
        return (int)count;
    const struct start_room room = {
        .figures_cold = code_reading_may_import(snippet->code, snippet->length),
        .space_warm = settings->limits.disk_bytes,
        .space_cold = space_beside(snippet, settings->limits.disk_bytes),
    };
    size_t fitting = program_start_fit(start->program, &room, files + count);
    if (fitting == start->program->count)
        preparation->template = start->program->template;
    return (int)(count + fitting);
}

/* Whether an interpreter that waits for this program does what one does that finds all of it. */
static bool may_be_warm(const struct snippet *snippet)
{
    const struct language *language = snippet->language;
    if (snippet->joins_output || snippet->directory != NULL)
        return false; /* only of `run`, which prewarms nothing */
    if (snippet->memory_bytes > 0)
        return false; /* clients must not fill the pool with sandboxes of every size */
    for (size_t i = 0; i < snippet->input_count; i++)
        for (const char *const *name = language->looked_for; name != NULL && *name != NULL; name++)
            if (strcmp(snippet->inputs[i].name, *name) == 0)
                return false;
    return language->may_be_warm && code_reading_is_once(snippet->code, snippet->length);
}

/* Owned by the caller; NULL: no memory. */
static char *join(const char *one, const char *between, const char *other)
{
    char *joined = NULL;
    return asprintf(&joined, "%s%s%s", one, between, other) < 0 ? NULL : joined;
}

/*
 * The arguments of the interpreter. If the program does not start beside its code, they have the whole path of that, and
 * modules of the directory are found, too. 0 or -ENOMEM.
 */
static int choose_argv(const struct snippet *snippet, struct preparation *preparation,
                       const char *const **ret_argv)
{
    const struct language *language = snippet->language;
    *ret_argv = language->argv;
    if (snippet->directory == NULL)
        return 0;
    bool has_modules = snippet->program == NULL && language->module_path != NULL;
    preparation->program = snippet->program != NULL ? strdup(snippet->program)
                                                    : join(RUN_WORK, "/", language->code_name);
    if (has_modules)
        preparation->module_path = join(language->module_path, "=", snippet->directory);
    if (preparation->program == NULL || (has_modules && preparation->module_path == NULL))
        return -ENOMEM;
    for (size_t i = 0; i < ARGV_MAX - 1 && language->argv[i] != NULL; i++)
        preparation->argv[i] = strcmp(language->argv[i], language->code_name) == 0
                                   ? preparation->program
                                   : language->argv[i];
    *ret_argv = preparation->argv;
    return 0;
}

/* Opens the image, and makes the engine when it is first needed. */
static int prepare(struct launcher *launcher, const struct snippet *snippet,
                   struct preparation *preparation, struct run_spec *ret_spec, struct fault *fault)
{
    const struct settings *settings = launcher->settings;
    const struct language *language = snippet->language;
    int r = open_image(launcher, language, &preparation->used, fault);
    if (r == 0)
        r = ensure_engine(launcher, fault);
    if (r < 0 || preparation->used == NULL)
        return r;
    if (settings->certificates.length > 0)
        r = certificates_update(&launcher->certificates[language_place(language)],
                                preparation->used, &settings->certificates, fault);
    if (r < 0)
        return r;
    const struct image *image = &preparation->used->image;
    const char *const *argv = NULL;
    r = choose_argv(snippet, preparation, &argv);
    if (r < 0)
        return fault_set(fault, -r, "starting a run: %m");
    preparation->environment =
        merge_environment(launcher, image, language, preparation->module_path);
    if (preparation->environment == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    int file_count = start_files(launcher, snippet, preparation, fault);
    if (file_count < 0)
        return file_count;
    *ret_spec = (struct run_spec){
        .image = image->name,
        .rootfs = image->rootfs,
        .layers = (const char *const *)image->layer_names,
        .hold = {image_use_end, preparation->used},
        .argv = argv,
        .arguments = snippet->arguments,
        .environment = preparation->environment,
        .home_links = image->home_links,
        .home_link_count = image->home_link_count,
        .home_files = preparation->files,
        .home_file_count = (size_t)file_count,
        .template = preparation->template,
        .folders = &launcher->settings->folders,
        .code_name = language->code_name,
        .packages = settings->network.mode != NETWORK_OFF ? language->packages : NULL,
        .code = snippet->code,
        .code_length = snippet->length,
        .inputs = snippet->inputs,
        .input_count = snippet->input_count,
        .stdin_source = snippet->stdin_source,
        .joins_output = snippet->joins_output,
        .directory = snippet->directory,
        .limits = settings->limits,
        .wall_max_ms = settings->wall_max_ms,
    };
    if (snippet->wall_ms > 0)
        ret_spec->limits.wall_ms = snippet->wall_ms;
    if (snippet->memory_bytes > 0 && snippet->memory_bytes < settings->limits.memory_bytes)
        ret_spec->limits.memory_bytes = snippet->memory_bytes;
    return 0;
}

static int start_here(struct launcher *launcher, const struct snippet *snippet,
                      const struct run_observer *observer, struct run **ret_run,
                      struct fault *fault)
{
    OWNED(preparation_release) struct preparation preparation = {0};
    struct run_spec spec;
    int r = prepare(launcher, snippet, &preparation, &spec, fault);
    if (r < 0)
        return r;
    spec.may_be_warm = may_be_warm(snippet);
    r = engine_submit(launcher->engine, &spec, observer, ret_run, fault);
    if (r < 0)
        return fault_set(fault, -r, "starting a run: %m");
    preparation.used = NULL; /* the run's, which may have been the first of many or the last */
    return 0;
}

int launcher_start(struct launcher *launcher, const struct snippet *snippet,
                   const struct run_observer *observer, struct launched *ret_launched,
                   struct fault *fault)
{
    struct launched launched = {0};
    int r = launcher->settings->fleet.url != NULL
                ? remote_start(&launcher->remote, snippet, observer, &launched.remote, fault)
                : start_here(launcher, snippet, observer, &launched.run, fault);
    if (r == 0 && ret_launched != NULL)
        *ret_launched = launched;
    return r;
}

int launched_signal(const struct launched *launched, int signal_number)
{
    if (launched->remote != NULL)
        return -EOPNOTSUPP;
    return launched->run != NULL ? engine_signal(launched->run, signal_number) : -ESRCH;
}

void launched_stop(const struct launched *launched)
{
    if (launched->run != NULL)
        engine_stop(launched->run);
}

void launched_cancel(const struct launched *launched)
{
    if (launched->remote != NULL)
        remote_cancel(launched->remote);
    else if (launched->run != NULL)
        engine_cancel(launched->run);
}

bool launched_is_queued(const struct launched *launched)
{
    return launched->remote != NULL ? remote_is_queued(launched->remote)
                                    : launched->run != NULL && engine_is_queued(launched->run);
}

/* So that the next session starts at once. It holds the image, too, unless that was replaced. */
static void expect_another(struct launcher *launcher, const struct language *language,
                           struct session_spec *spec)
{
    struct used_image *used = NULL;
    if (open_image(launcher, language, &used, NULL) < 0 || used == NULL)
        return;
    bool is_same = used == spec->run.hold.data;
    if (!is_same || !engine_expect_session(launcher->engine, spec))
        image_use_end(used);
}

/*
 * What each program of the session begins with. Its variable has the path, which a shell expands; an operator's variable
 * of this name gets another one, which the file looks for.
 */
static int add_start(const struct session_runner *runner, struct preparation *preparation,
                     struct run_spec *spec)
{
    const char *name = runner->start_variable;
    size_t length = strlen(name);
    size_t count = 0;
    const char **environment = preparation->environment;
    for (; environment != NULL && environment[count] != NULL; count++) {
        const char **variable = &environment[count];
        if (strncmp(*variable, name, length) != 0 || (*variable)[length] != '=')
            continue;
        free(preparation->start_variables[0]);
        if (asprintf(&preparation->start_variables[0], "CODE_SANDBOX_%s", *variable) < 0)
            return -ENOMEM;
        *variable = preparation->start_variables[0];
    }
    const char **more = reallocarray(environment, count + 2, sizeof(*more));
    if (more == NULL)
        return -ENOMEM;
    preparation->environment = more;
    if (asprintf(&preparation->start_variables[1], "%s=$HOME/%s", name, runner->start.path) < 0)
        return -ENOMEM;
    more[count] = preparation->start_variables[1];
    more[count + 1] = NULL;
    preparation->files[spec->home_file_count++] = runner->start;
    spec->environment = more;
    return 0;
}

int launcher_open_session(struct launcher *launcher, const struct language *language,
                          const struct session_observer *observer, struct session **ret_session,
                          struct fault *fault)
{
    const struct session_runner *runner = language->session;
    const struct snippet snippet = {
        .language = language, .code = runner->program, .length = runner->length};
    OWNED(preparation_release) struct preparation preparation = {0};
    struct session_spec spec = {.interrupted_by_frame = runner->interrupted_by_frame};
    int r = prepare(launcher, &snippet, &preparation, &spec.run, fault);
    if (r < 0)
        return r;
    if (runner->start.path != NULL && add_start(runner, &preparation, &spec.run) < 0)
        return fault_set(fault, ENOMEM, "starting a session: %m");
    spec.run.session = runner->kind;
    spec.run.may_be_warm = true;
    if (runner->argv != NULL)
        spec.run.argv = runner->argv;
    r = engine_open_session(launcher->engine, &spec, observer, ret_session, fault);
    if (r < 0)
        return fault_set(fault, -r, "starting a session: %m");
    preparation.used = NULL; /* the session's */
    expect_another(launcher, language, &spec);
    return 0;
}

int launcher_continue(struct launcher *launcher, struct session *session,
                      const struct snippet *snippet, const struct run_observer *observer,
                      struct cell **ret_cell, struct fault *fault)
{
    const struct cell_spec spec = {
        .code = snippet->code,
        .code_length = snippet->length,
        .inputs = snippet->inputs,
        .input_count = snippet->input_count,
        .stdin_source = snippet->stdin_source,
        .wall_ms = snippet->wall_ms > 0 ? snippet->wall_ms : launcher->settings->limits.wall_ms,
    };
    return session_submit(session, &spec, observer, ret_cell, fault);
}
