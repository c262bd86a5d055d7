#include "interpreter/checker.h"

#include "interpreter/rules/check_answer.h"
#include "interpreter/rules/findings_text.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <string.h>

#define CALL_MAX (512 * KIBIBYTE)
#define ANSWER_MAX (2 * MEBIBYTE)
#define MEMORY_MAX (512 * MEBIBYTE) /* of a checker */
#define DISK_MAX (64 * MEBIBYTE)
#define START_MAX_MS 10000

/* Its sandboxes have nothing but the interpreter, however much snippets may have. */
static int make_settings(const struct settings *from, struct settings *settings,
                         struct fault *fault)
{
    *settings = settings_default();
    settings->no_cgroup = true;
    settings->engine.tier = from->engine.tier;
    settings->engine.profile = from->engine.profile;
    settings->engine.warm = 0;
    settings->engine.parallel = LANGUAGE_COUNT;
    settings->wall_max_ms = START_MAX_MS;
    settings->no_images = true;
    settings->limits.output_kept = ANSWER_MAX;
    settings->limits.memory_bytes = MEMORY_MAX;
    settings->limits.disk_bytes = DISK_MAX;
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        if (from->images[i] == NULL)
            continue;
        settings->images[i] = strdup(from->images[i]);
        if (settings->images[i] == NULL)
            return fault_set(fault, ENOMEM, "preparing the checks of --policy: %m");
    }
    return 0;
}

/* A sandbox of a checker, which may outlive its place: checks that it has are answered. */
struct checker_session {
    struct checker *checker;
    struct checker_session *next; /* of those that are retired */
    struct live_session live; /* without a session: it has ended by itself */
    const struct language *language;
    size_t waiting; /* cells that are not done */
    size_t begun; /* checks, in all */
    bool has_started; /* the first cell, with the checker in it, has ended well */
};

static struct checker_session **current_of(struct checker *checker, const struct language *language)
{
    return &checker->current[language_place(language)];
}

/* No further check goes to it. */
static void retire(struct checker_session *own)
{
    struct checker *checker = own->checker;
    struct checker_session **current = current_of(checker, own->language);
    if (*current != own)
        return;
    *current = NULL;
    own->next = checker->retired;
    checker->retired = own;
    loop_arm(checker->launcher.loop, &checker->reap, clock_now());
}

static void end_retired(struct checker *checker)
{
    struct checker_session **link = &checker->retired;
    while (*link != NULL) {
        struct checker_session *own = *link;
        if (own->waiting > 0) {
            link = &own->next;
            continue;
        }
        *link = own->next;
        if (own->live.session != NULL)
            session_end(own->live.session);
        free(own);
    }
}

static void discount(struct checker *checker, struct check *check)
{
    checker->bytes -= check->bytes;
    check->bytes = 0;
}

/* Takes it out of those that wait. */
static void unlink_check(struct checker *checker, struct check *check)
{
    struct check **link = &checker->waiting;
    while (*link != check)
        link = &(*link)->next;
    *link = check->next;
    check->is_waiting = false;
    checker->waiting_count--;
}

static bool has_place(struct checker *checker, const struct language *language)
{
    const struct checker_session *current = *current_of(checker, language);
    return current == NULL || current->waiting < CHECKS_QUEUED_MAX;
}

/* From the loop: a session may not be ended by one of its observers, nor a check be done while it begins. */
static void reap(struct loop_timer *timer)
{
    struct checker *checker = container_of(timer, struct checker, reap);
    end_retired(checker);
    for (size_t i = 0; i < CHECKS_QUEUED_MAX; i++) {
        struct check *check = checker->waiting;
        if (check == NULL || !has_place(checker, check->language))
            return;
        unlink_check(checker, check);
        discount(checker, check);
        check->is_lost = true;
        check->done(check);
    }
}

static int refuse_more(const struct checker *checker, struct fault *fault)
{
    return fault_set(fault, EAGAIN, "%zu programs wait to be checked already: try again later",
                     checker->waiting_count);
}

/* Behind the others, until a place is free. */
static int wait_for_place(struct checker *checker, struct check *check, struct fault *fault)
{
    struct check **link = &checker->waiting;
    if (checker->waiting_count == CHECKS_WAITING_MAX)
        return refuse_more(checker, fault);
    while (*link != NULL)
        link = &(*link)->next;
    *link = check;
    check->next = NULL;
    check->is_waiting = true;
    checker->waiting_count++;
    return 0;
}

/* A cell is done; `is_sound`: as it should be. */
static void end_cell(struct checker_session *own, bool is_sound)
{
    struct checker *checker = own->checker;
    own->waiting--;
    if (!is_sound)
        retire(own);
    if (checker->waiting != NULL || *current_of(checker, own->language) != own)
        loop_arm(checker->launcher.loop, &checker->reap, clock_now());
}

static void session_ended(void *data, int status, const struct run_result *result,
                          const struct fault *fault)
{
    (void)status;
    (void)result;
    (void)fault;
    struct checker_session *own = data;
    own->live.session = NULL;
    retire(own);
}

static bool is_success(int status, const struct run_result *result)
{
    return status == 0 && result->outcome == OUTCOME_EXITED && result->exit_code == 0 &&
           result->session == SESSION_KEPT;
}

static void first_cell_done(void *data, int status, struct run_result *result,
                            const struct fault *fault)
{
    (void)fault;
    struct checker_session *own = data;
    own->has_started = is_success(status, result);
    end_cell(own, own->has_started);
}

static int open_checker_session(struct checker *checker, const struct language *language,
                                struct checker_session *own, struct fault *fault)
{
    const struct language_check *way = language->check;
    const struct session_observer observer = {.ended = session_ended, .data = own};
    const struct session_wish wish = {.language = language, .has_no_checkpoints = true};
    int r = launcher_open_session(&checker->launcher, &wish, &observer, &own->live, fault);
    if (r < 0)
        return r;
    const struct snippet first = {
        .language = language,
        .code = way->start,
        .length = strlen(way->start),
        .wall_ms = START_MAX_MS,
        .inputs = way->files,
        .input_count = way->file_count,
    };
    const struct run_observer cell_observer = {.done = first_cell_done, .data = own};
    struct cell *cell = NULL;
    r = launcher_continue(&checker->launcher, &own->live, &first, &cell_observer, &cell, fault);
    if (r < 0)
        session_end(own->live.session);
    return r;
}

static int ensure_session(struct checker *checker, const struct language *language,
                          struct fault *fault)
{
    struct checker_session **current = current_of(checker, language);
    if (*current != NULL && (*current)->begun >= CHECKS_MAX && (*current)->waiting == 0)
        retire(*current);
    if (*current != NULL)
        return 0;
    OWNED_MEMORY struct checker_session *own = calloc(1, sizeof(*own));
    if (own == NULL)
        return fault_set(fault, ENOMEM, "starting the checker of --policy: %m");
    *own = (struct checker_session){.checker = checker, .language = language, .waiting = 1};
    int r = open_checker_session(checker, language, own, fault);
    if (r == 0)
        *current = pointer_take(&own);
    return r;
}

int checker_open(struct checker *checker, struct loop *loop, const struct settings *settings,
                 struct fault *fault)
{
    *checker = (struct checker){.rules = RULES_NONE};
    int r = make_settings(settings, &checker->settings, fault);
    if (r == 0)
        r = rules_read(settings->policy != NULL ? settings->policy : "off", &checker->rules, fault);
    if (r < 0)
        return r;
    checker->launcher = launcher_of(loop, &checker->settings);
    checker->reap.fire = reap;
    return 0;
}

bool checker_knows(const struct language *language)
{
    return language->check != NULL;
}

bool checker_is_for(const struct checker *checker, const struct language *language)
{
    return checker_knows(language) && rules_are_there(&checker->rules);
}

/* With the engine, its sessions are gone, without a word to their observers. */
void checker_stop(struct checker *checker)
{
    launcher_release(&checker->launcher);
    if (checker->reap.armed)
        loop_disarm(checker->launcher.loop, &checker->reap);
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        free(checker->current[i]);
        checker->current[i] = NULL;
    }
    while (checker->waiting != NULL)
        unlink_check(checker, checker->waiting);
    while (checker->retired != NULL) {
        struct checker_session *own = checker->retired;
        checker->retired = own->next;
        free(own);
    }
}

void checker_release(struct checker *checker)
{
    checker_stop(checker);
    rules_release(&checker->rules);
    settings_release(&checker->settings);
}

/* Names that a program may import although no image has them: of its own input files. */
static int write_known(const struct snippet *snippet, struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_array(writer);
    for (size_t i = 0; i < snippet->input_count; i++) {
        const char *name = snippet->inputs[i].name;
        json_string(writer, name, strcspn(name, "./"));
    }
    json_end_array(writer);
    return json_writer_close(writer);
}

static int write_call(const struct checker *checker, const struct snippet *snippet,
                      struct buffer *text)
{
    const struct language_check *way = snippet->language->check;
    int r = buffer_format(text, "%s%d%s%d%s", way->before, rules_want_literals(&checker->rules),
                          way->between, rules_want_missing(&checker->rules), way->between);
    if (r == 0)
        r = write_known(snippet, text);
    return r < 0 ? r : buffer_append_text(text, way->after);
}

/* NULL, or how the checker has failed. */
static const char *read_answer(struct check *check, const struct run_result *result)
{
    if (result->outcome == OUTCOME_TIMED_OUT)
        return "the check took too long";
    if (result->outcome != OUTCOME_EXITED || result->exit_code != 0)
        return "the checker failed";
    if (result->session != SESSION_KEPT)
        return "the checker ended";
    if (result->out.cut > 0 || result->out.tail.length > 0)
        return "it names more than can be checked";
    return check_answer_read(&check->checker->rules, result->out.head.data, result->out.head.length,
                             &check->findings);
}

static void cell_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    (void)fault;
    struct check *check = data;
    check->cell = NULL;
    discount(check->checker, check);
    check->duration_ns = clock_now() - check->began;
    /* Each of those before it may end a sandbox, but one that does not even start is no good for anybody. */
    bool has_started = check->session->has_started;
    check->is_lost = status == -ESRCH && has_started && ++check->losses < CHECKS_QUEUED_MAX;
    const char *why = !has_started ? "the checker does not start"
                      : status < 0 ? "the checker ended"
                                   : read_answer(check, result);
    check->has_failed = why != NULL;
    end_cell(check->session, why == NULL);
    if (why != NULL)
        rules_judge_unparsed(&check->checker->rules, why, &check->findings);
    check->done(check);
}

static size_t bytes_of(const struct snippet *snippet)
{
    size_t bytes = snippet->length;
    for (size_t i = 0; i < snippet->input_count; i++)
        bytes += snippet->inputs[i].length;
    return bytes + snippet->stdin_source.length;
}

/* Gives it to the sandbox, or has it wait. */
static int place(struct check *check, struct checker *checker, const struct snippet *snippet,
                 struct fault *fault)
{
    OWNED(buffer_release) struct buffer call = BUFFER(CALL_MAX);
    const struct language *language = snippet->language;
    bool is_behind =
        checker->waiting != NULL && !check->is_lost; /* of others that came before it */
    if (!check->is_lost)
        check->losses = 0;
    check->checker = checker;
    check->language = language;
    check->began = clock_now();
    check->has_failed = check->is_lost = false;
    findings_release(&check->findings);
    int r = ensure_session(checker, language, fault);
    if (r < 0)
        return r;
    r = write_call(checker, snippet, &call);
    if (r < 0)
        return fault_set(fault, -r, "preparing the check of a program: %m");
    const struct snippet cell = {
        .language = language,
        .code = call.data,
        .length = call.length,
        .wall_ms = CHECK_MAX_MS,
        .stdin_source = {.kind = STDIN_BYTES, .bytes = snippet->code, .length = snippet->length},
    };
    const struct run_observer observer = {.done = cell_done, .data = check};
    check->session = *current_of(checker, language);
    if (is_behind || !has_place(checker, language))
        return wait_for_place(checker, check, fault);
    r = launcher_continue(&checker->launcher, &check->session->live, &cell, &observer, &check->cell,
                          fault);
    if (r == -EAGAIN && check->session->waiting > 0) /* its cells have too many bytes */
        return wait_for_place(checker, check, fault);
    if (r < 0)
        return r;
    check->session->waiting++;
    check->session->begun++;
    return 0;
}

int check_begin(struct check *check, struct checker *checker, const struct snippet *snippet,
                struct fault *fault)
{
    size_t bytes = bytes_of(snippet) > check->held ? bytes_of(snippet) : check->held;
    check->checker = checker;
    if (checker->bytes > 0 && checker->bytes + bytes > CHECKS_BYTES_MAX)
        return refuse_more(checker, fault);
    check->bytes = bytes;
    checker->bytes += bytes;
    int r = place(check, checker, snippet, fault);
    if (r < 0)
        discount(checker, check);
    return r;
}

bool check_was_made(const struct check *check)
{
    return check->checker != NULL || check->is_told;
}

void check_take_told(struct check *check, const struct buffer *text)
{
    if (text->length == 0)
        return;
    check->is_told = true;
    if (findings_text_read_carried(text, &check->findings, &check->duration_ns) == 0)
        return;
    findings_release(&check->findings);
    check->findings.unchecked = strdup("what the worker said of the rules is not understood");
}

void check_drop(struct check *check)
{
    if (check->cell != NULL && check->checker->launcher.engine != NULL) {
        cell_cancel(check->cell);
        end_cell(check->session, true);
    }
    if (check->is_waiting)
        unlink_check(check->checker, check);
    if (check->checker != NULL)
        discount(check->checker, check);
    check->cell = NULL;
}
