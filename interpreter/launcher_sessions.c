/* Sessions, of launcher.h. */
#include "images/store/catalog.h"
#include "images/store/image_program.h"
#include "interpreter/launcher.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So that the next session starts at once. It holds the image, too, unless that was replaced. */
static void expect_another(struct launcher *launcher, struct session_spec *spec)
{
    struct used_image *used = NULL;
    if (preparation_open_image(&launcher->preparer, spec->run.image, &used, NULL) < 0 ||
        used == NULL)
        return;
    bool is_same = used == spec->run.hold.data;
    if (!is_same || !engine_expect_session(launcher->engine, spec))
        image_use_end(used);
}

/*
 * What each program of the session begins with. Its variable has the path, which a shell expands; an operator's variable
 * of this name gets another one, which the file looks for.
 */
static int add_start(const struct session_runner *runner, bool has_calls,
                     struct preparation *preparation, struct run_spec *spec)
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
    const struct home_file *start = has_calls ? &runner->calls_files[0] : &runner->start;
    if (asprintf(&preparation->start_variables[1], "%s=$HOME/%s", name, start->path) < 0)
        return -ENOMEM;
    more[count] = preparation->start_variables[1];
    more[count + 1] = NULL;
    preparation->files[spec->home_file_count++] = runner->start;
    for (size_t i = 0; has_calls && i < START_CALL_FILES; i++)
        preparation->files[spec->home_file_count++] = runner->calls_files[i];
    spec->environment = more;
    return 0;
}

/* As the sessions of models are. */
static bool is_usual(const struct session_wish *wish)
{
    return wish->environment == NULL && !wish->keeps_running && wish->calls == NULL &&
           wish->memory_bytes + wish->disk_bytes + wish->processes + wish->output_bytes == 0;
}

static void lower(uint64_t *limit, uint64_t wished)
{
    if (wished > 0 && wished < *limit)
        *limit = wished;
}

/* The operator's variables come first: these count. */
static int add_variables(const char *const *environment, struct preparation *preparation,
                         struct run_spec *spec)
{
    size_t count = 0, more = 0;
    while (preparation->environment[count] != NULL)
        count++;
    while (environment != NULL && environment[more] != NULL)
        more++;
    const char **all = reallocarray(preparation->environment, count + more + 1, sizeof(*all));
    if (all == NULL)
        return -ENOMEM;
    preparation->environment = all;
    spec->environment = all;
    for (size_t i = 0; i <= more; i++)
        all[count + i] = i < more ? environment[i] : NULL;
    return 0;
}

static void lower_limits(const struct session_wish *wish, struct run_limits *limits)
{
    lower(&limits->memory_bytes, wish->memory_bytes);
    lower(&limits->disk_bytes, wish->disk_bytes);
    lower(&limits->processes, wish->processes);
    lower(&limits->output_kept, wish->output_bytes);
}

static int check_wish(const struct launcher *launcher, const struct session_wish *wish,
                      struct fault *fault)
{
    if (!wish->keeps_running || !folders_have(&launcher->settings->folders, FOLDER_WRITABLE))
        return 0;
    fault_identify(fault, "invalid_parameter");
    return fault_set(fault, EINVAL,
                     "\"processes\": \"run\" cannot go together with a folder of mode rw, whose "
                     "protected files are checked before anything runs: leave one of them out");
}

/* A session, or a further lane of one. */
static int prepare_session(struct launcher *launcher, const struct session_wish *wish,
                           bool has_calls, struct preparation *preparation,
                           struct session_spec *ret_spec, struct fault *fault)
{
    const struct session_runner *runner = wish->language->session;
    const struct snippet snippet = {.language = wish->language,
                                    .image = wish->image,
                                    .code = runner->program,
                                    .length = runner->length};
    *ret_spec = (struct session_spec){.interrupted_by_frame = runner->interrupted_by_frame,
                                      .calls_program = runner->calls_program,
                                      .calls_program_length = runner->calls_length};
    int r = preparation_make(&launcher->preparer, &snippet, preparation, &ret_spec->run, fault);
    if (r < 0)
        return r;
    bool is_complete = runner->start.path == NULL ||
                       add_start(runner, has_calls, preparation, &ret_spec->run) == 0;
    if (!is_complete || add_variables(wish->environment, preparation, &ret_spec->run) < 0)
        return fault_set(fault, ENOMEM, "starting a session: %m");
    if (runner->leaves_copies && !wish->has_no_checkpoints)
        ret_spec->checkpoints = (unsigned)launcher->settings->session_checkpoints;
    ret_spec->run.session = runner->kind;
    ret_spec->run.may_be_warm = true;
    if (runner->argv != NULL)
        ret_spec->run.argv = runner->argv;
    return 0;
}

int launcher_open_session(struct launcher *launcher, const struct session_wish *wish,
                          const struct session_observer *observer, struct live_session *ret_live,
                          struct fault *fault)
{
    OWNED(preparation_release) struct preparation preparation = {0};
    OWNED(live_session_free_variables) char **environment = NULL;
    struct session_spec spec = {0};
    struct session *session = NULL;
    int r = check_wish(launcher, wish, fault);
    if (r == 0)
        r = live_session_copy_variables(wish->environment, &environment, fault);
    if (r == 0)
        r = prepare_session(launcher, wish, wish->calls != NULL, &preparation, &spec, fault);
    if (r == 0)
        r = launcher_ensure_engine(launcher, fault);
    if (r < 0 || preparation.used == NULL)
        return r;
    lower_limits(wish, &spec.run.limits);
    spec.run.keeps_running = wish->keeps_running;
    spec.run.has_calls = wish->calls != NULL;
    spec.calls = wish->calls;
    spec.run.may_be_warm = is_usual(wish);
    r = engine_open_session(launcher->engine, &spec, observer, &session, fault);
    if (r < 0)
        return fault_set(fault, -r, "starting a session: %m");
    *ret_live = (struct live_session){.session = session,
                                      .used = preparation.used,
                                      .languages = {wish->language},
                                      .language_count = 1,
                                      .has_calls = wish->calls != NULL,
                                      .limits = spec.run.limits,
                                      .environment = pointer_take(&environment)};
    snprintf(ret_live->image, sizeof(ret_live->image), "%s", preparation.used->image.name);
    preparation.held = NULL; /* the session's */
    if (is_usual(wish))
        expect_another(launcher, &spec);
    return 0;
}

static int explain_missing(const struct launcher *launcher, const struct live_session *live,
                           const struct language *language, struct fault *fault)
{
    const char *other = settings_image(launcher->settings, language);
    const char *program = language->argv[0];
    fault_identify(fault, "no_interpreter");
    if (strcmp(other, live->image) == 0)
        return fault_set(fault, ENOENT, "image %s, on which this session runs, has no %s",
                         live->image, program);
    return fault_set(fault, ENOENT,
                     "image %s, on which this session runs, has no %s, but image %s has: start a "
                     "session there, with the tool for %s and \"new\"",
                     live->image, program, other, language->title);
}

/* So that the session runs the language, too. */
static int add_language(struct launcher *launcher, struct live_session *live,
                        const struct language *language, struct fault *fault)
{
    OWNED(preparation_release) struct preparation preparation = {.used = live->used};
    struct session_spec spec;
    unsigned lane;
    if (language->session == NULL || live->language_count == SESSION_LANES_MAX)
        return fault_set(fault, ENOTSUP, "%s has no place in this session: leave out \"session\"",
                         language->title);
    if (!image_has_program(&live->used->image, language->argv[0]))
        return explain_missing(launcher, live, language, fault);
    const struct session_wish wish = {.language = language,
                                      .environment = (const char *const *)live->environment};
    int r = prepare_session(launcher, &wish, live->has_calls, &preparation, &spec, fault);
    spec.run.joins_session = true;
    spec.run.has_calls = live->has_calls;
    spec.run.limits = live->limits;
    if (r == 0)
        r = engine_add_lane(live->session, &spec, &lane, fault);
    if (r == 0)
        live->languages[live->language_count++] = language; /* at `lane` */
    return r;
}

/* The number of its lane, or that of none. */
static unsigned lane_of(const struct live_session *live, const struct language *language)
{
    unsigned lane = 0;
    while (lane < live->language_count && live->languages[lane] != language)
        lane++;
    return lane;
}

/* Where nobody names one: the operator's for the first language, or the one for all, if it is there. */
static const char *usual_image(const struct settings *settings, const char *store)
{
    bool is_free = settings->images[0] == NULL && image_is_there(store, AGENT_IMAGE);
    return is_free ? AGENT_IMAGE : settings_image(settings, languages[0]);
}

int launcher_choose_image(const struct settings *settings, const char *name, const char **ret_image,
                          const struct language **ret_language, struct fault *fault)
{
    OWNED_MEMORY char *store = NULL;
    OWNED(image_release) struct image image = {0};
    int r = store_path(&store, fault);
    if (r < 0)
        return r;
    *ret_image = name != NULL ? name : usual_image(settings, store);
    r = image_name_check(*ret_image, fault);
    if (r == 0)
        r = image_open(store, *ret_image, &image, fault);
    if (r < 0) {
        fault->id = "no_image";
        return r;
    }
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        *ret_language = languages[i];
        if (languages[i]->session != NULL && image_has_program(&image, languages[i]->argv[0]))
            return 0;
    }
    fault_identify(fault, "no_interpreter");
    return fault_set(fault, ENOENT,
                     "the image %s has no interpreter of a language that has sessions", *ret_image);
}

bool launcher_has_program(const struct live_session *live, const char *program)
{
    return image_has_program(&live->used->image, program);
}

bool launcher_may_continue(const struct live_session *live, const struct language *language)
{
    return lane_of(live, language) < live->language_count ||
           (language->session != NULL && launcher_has_program(live, language->argv[0]));
}

int launcher_continue(struct launcher *launcher, struct live_session *live,
                      const struct snippet *snippet, const struct run_observer *observer,
                      struct cell **ret_cell, struct fault *fault)
{
    const struct cell_spec spec = {
        .lane = lane_of(live, snippet->language),
        .back_to = snippet->back_to,
        .code = snippet->code,
        .code_length = snippet->length,
        .inputs = snippet->inputs,
        .input_count = snippet->input_count,
        .stdin_source = snippet->stdin_source,
        .functions = snippet->functions,
        .wall_ms = snippet->wall_ms > 0 ? snippet->wall_ms : launcher->settings->limits.wall_ms,
    };
    int r = spec.lane == live->language_count
                ? add_language(launcher, live, snippet->language, fault)
                : 0;
    return r < 0 ? r : session_submit(live->session, &spec, observer, ret_cell, fault);
}
