#include "fleet/call_run.h"

#include "fleet/result_line.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/result/result_json.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/settings/mounts_text.h"
#include "interpreter/workers/fleet_answer.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>

#define NOTES_MAX (64 * KIBIBYTE)

static void hold_for_patches(void *data, bool hold)
{
    struct call_site *site = data;
    launcher_hold(&site->launcher, HOLD_PATCHES, hold);
}

int call_site_open(struct call_site *site, struct loop *loop, const struct settings *settings,
                   const struct fleet_settings *fleet, struct fault *fault)
{
    *site = (struct call_site){
        .loop = loop,
        .settings = settings,
        .launcher = launcher_of(loop, settings),
        .patches = patch_queue_of(loop, hold_for_patches, site),
        .directory = {settings->files_dir, false, settings->files_dir_fd},
        .metrics = {.loop = loop,
                    .path = settings->metrics_file,
                    .look = launcher_look,
                    .data = &site->launcher},
        .link = {.process = FLEET_PROCESS_NONE, .channel = CHANNEL_NONE},
        .is_elsewhere = fleet->url != NULL,
    };
    site->launcher.preparer.has_templates = true;
    int r = checker_open(&site->checker, loop, settings, fault);
    if (r == 0)
        r = metrics_file_open(&site->metrics, fault);
    if (r == 0 && site->is_elsewhere)
        r = fleet_link_open(&site->link, loop, fleet, settings, fault);
    return r;
}

void call_site_stop(struct call_site *site)
{
    metrics_file_close(&site->metrics);
    fleet_link_close(&site->link);
    checker_stop(&site->checker);
    launcher_release(&site->launcher);
}

void call_site_close(struct call_site *site)
{
    call_site_stop(site);
    checker_release(&site->checker);
    patch_queue_release(&site->patches);
}

static struct result_head head_of(const struct call_run *run)
{
    return (struct result_head){&run->call.id, run->number};
}

static void write_error(struct call_run *run, const struct fault *fault, enum not_run reason)
{
    metrics_file_count_not_run(&run->site->metrics, reason);
    const struct result_head head = head_of(run);
    run->result = BUFFER(RESULT_JSON_MAX(FAULT_TEXT_MAX));
    if (result_line_write_error(&head, fault, &run->result) < 0)
        buffer_release(&run->result);
}

void call_run_refuse(struct call_run *run, const struct fault *fault)
{
    write_error(run, fault, NOT_RUN_REFUSED);
}

static void fail(struct call_run *run, const struct fault *fault, enum not_run reason)
{
    write_error(run, fault, reason);
    run->done(run, CALL_NOT_RUN);
}

/* Shown even if all went well: a hook runs later, outside of any sandbox. */
static void tell_appeared(const struct run_result *result)
{
    OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
    if (mounts_warn(&result->appeared, RUN_OF_RESULT, &text) == 0 && text.length > 0)
        log_note_lines(buffer_string(&text));
}

static void write_result(struct call_run *run, const struct result_files *files)
{
    const struct settings *settings = run->site->settings;
    const struct record record = {
        .result = &run->ended,
        .image = settings_image(settings, run->call.arguments.snippet.language),
        .stdout_cut = run->ended.out.cut,
        .stderr_cut = run->ended.err.cut,
        .files = files,
        .patches = &run->patches.patches,
        .network = &settings->network,
        .check = check_was_made(&run->check) ? &run->check : NULL,
    };
    const struct result_head head = head_of(run);
    run->result = BUFFER(RESULT_JSON_MAX(run->ended.limits.output_kept) + LINE_IN_MAX);
    const struct carried_result carried = {
        .result = &run->ended,
        .patches = &run->patches.patches,
        .findings = record.check != NULL ? &run->check.findings : NULL,
        .check_ns = run->check.duration_ns,
        .wants_files = run->call.wants_files,
    };
    int r = run->call.is_carried ? result_line_write_carried(&head, &carried, &run->result)
                                 : result_line_write(&head, &record, &run->result);
    if (r < 0)
        buffer_release(&run->result);
}

static void save_and_write(struct call_run *run)
{
    struct call_site *site = run->site;
    bool saves = site->directory.path != NULL;
    OWNED(result_files_release) struct result_files files = {0};
    if (saves)
        result_files_make(&(struct result_files_request){.result = &run->ended,
                                                         .patches = &run->patches.patches,
                                                         .call = run->number,
                                                         .directory = &site->directory},
                          &files);
    write_result(run, saves ? &files : NULL);
}

static void patches_done(struct patch_job *job)
{
    struct call_run *run = container_of(job, struct call_run, patches);
    save_and_write(run);
    tell_appeared(&run->ended);
    /* The line may have to wait for others; descriptors and layers must not. */
    folder_patches_release(&run->patches.patches);
    run_result_release(&run->ended);
    run->ended = (struct run_result){0};
    run->done(run, CALL_RAN);
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct call_run *run = data;
    run->run = (struct launched){0};
    if (status < 0) {
        fail(run, fault, NOT_RUN_FAILED);
        return;
    }
    metrics_file_count_run(&run->site->metrics, run->call.arguments.snippet.language, result);
    run_result_take(result, &run->ended);
    patch_queue_add(&run->site->patches, &run->patches, &run->ended);
}

static void test_ran(struct test_run *tests, const struct run_result *result)
{
    struct call_run *run = container_of(tests, struct call_run, tests);
    metrics_file_count_run(&run->site->metrics, run->call.arguments.snippet.language, result);
    tell_appeared(result);
}

static void write_tests(struct call_run *run)
{
    const struct result_head head = head_of(run);
    run->result = BUFFER(TEST_RUN_MAX(run->tests.set.count));
    const char *image = settings_image(run->site->settings, run->call.arguments.snippet.language);
    if (result_line_write_tests(&head, &run->tests, &run->check, image, &run->result) < 0)
        buffer_release(&run->result);
}

static void tests_done(struct test_run *tests, int status, const struct fault *fault)
{
    struct call_run *run = container_of(tests, struct call_run, tests);
    if (status < 0) {
        fail(run, fault, NOT_RUN_FAILED);
        return;
    }
    write_tests(run);
    test_run_drop(&run->tests);
    run->done(run, CALL_RAN);
}

/* Others have a copy of everything, and results name the language. */
static void let_go_of_call(struct call_run *run)
{
    const struct language *language = run->call.arguments.snippet.language;
    code_arguments_release(&run->call.arguments);
    json_release(&run->call.json);
    run->call.arguments = (struct code_arguments){.snippet = {.language = language}};
}

static int start_program(struct call_run *run, struct fault *fault)
{
    const struct run_observer observer = {.done = run_done, .data = run};
    const struct snippet *snippet = &run->call.arguments.snippet;
    struct launcher *launcher = &run->site->launcher;
    int r = run->call.tests.count > 0
                ? test_run_start(&run->tests, launcher, snippet, &run->call.tests, fault)
                : launcher_start(launcher, snippet, &observer, &run->run, fault);
    if (r < 0)
        return r;
    let_go_of_call(run);
    return 0;
}

static void refuse_by_rules(struct call_run *run)
{
    OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
    struct fault fault = {.id = "policy"};
    findings_text_list(&run->check.findings, SEVERITY_REFUSE, "Not run: ", &text);
    const char *lines = buffer_string(&text);
    fault_set(&fault, EPERM, "%s", lines != NULL ? lines : "Not run: the rules refuse it");
    fail(run, &fault, NOT_RUN_POLICY);
}

static int start_check(struct call_run *run, struct fault *fault);

static void check_done(struct check *check)
{
    struct call_run *run = container_of(check, struct call_run, check);
    struct fault fault = {0};
    run->is_checking = false;
    int r = 0;
    if (check->is_lost)
        r = start_check(run, &fault);
    else if (findings_severity(&check->findings) == SEVERITY_REFUSE)
        refuse_by_rules(run);
    else
        r = start_program(run, &fault);
    if (r < 0)
        fail(run, &fault, NOT_RUN_REFUSED);
}

static int start_check(struct call_run *run, struct fault *fault)
{
    run->check.done = check_done;
    int r = check_begin(&run->check, &run->site->checker, &run->call.arguments.snippet, fault);
    run->is_checking = r == 0;
    return r;
}

static void write_lost(struct call_run *run, const char *reason)
{
    const struct result_head head = head_of(run);
    run->result = BUFFER(RESULT_JSON_MAX(FAULT_TEXT_MAX));
    if (result_line_write_lost(&head, reason, &run->result) < 0)
        buffer_release(&run->result);
    metrics_file_count_not_run(&run->site->metrics, NOT_RUN_FAILED);
    run->done(run, CALL_LOST);
}

/* A result of a worker is written as one of a run here. */
static void answered(struct fleet_ticket *ticket, const struct json_value *answer)
{
    struct call_run *run = container_of(ticket, struct call_run, ticket);
    struct fault fault = {0};
    switch (fleet_answer_read(ticket, answer, &run->ended, &fault)) {
    case FLEET_RAN:
        metrics_file_count_run(&run->site->metrics, run->call.arguments.snippet.language,
                               &run->ended);
        check_take_told(&run->check, &run->ended.told_findings);
        patch_queue_add(&run->site->patches, &run->patches, &run->ended);
        break;
    case FLEET_NOT_RUN:
        fail(run, &fault, NOT_RUN_FAILED);
        break;
    case FLEET_REFUSED:
        fail(run, &fault, NOT_RUN_REFUSED);
        break;
    case FLEET_LOST:
        write_lost(run, fault.text);
        break;
    }
}

/* A call without a time of its own gets the one that somebody has set here, not the worker's. */
static void write_timeout(struct json_writer *writer, const struct json_value *call,
                          const struct settings *settings)
{
    int64_t wall_ms = settings->limits.wall_ms;
    if (json_member(call, "timeout_seconds") != NULL || wall_ms == RUN_WALL_DEFAULT_MS)
        return;
    json_key(writer, "timeout_seconds");
    json_double(writer, (double)wall_ms / 1000);
}

static int write_call(const struct json_value *call, const struct snippet *snippet,
                      const struct settings *settings, bool wants_files, struct buffer *text)
{
    static const char *const stays_here[] = {"id", NULL};
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_copy_members(writer, call, stays_here);
    write_timeout(writer, call, settings);
    json_key(writer, "carry");
    json_begin_object(writer);
    json_boolean_member(writer, "files", wants_files);
    if (snippet_compile_ms(snippet) > 0)
        json_number_member(writer, "compile_ms", snippet_compile_ms(snippet));
    json_end_object(writer);
    json_end_object(writer);
    return json_writer_close(writer);
}

static int send_elsewhere(struct call_run *run, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LINE_IN_MAX);
    run->ticket.answered = answered;
    int r = write_call(json_root(run->call.json), &run->call.arguments.snippet, run->site->settings,
                       run->site->directory.path != NULL, &text);
    if (r < 0)
        return fault_set(fault, -r, "sending a call: %m");
    r = fleet_link_send(&run->site->link, &run->ticket, &text, fault);
    if (r < 0)
        return r;
    let_go_of_call(run);
    return 0;
}

int call_run_start(struct call_run *run, struct fault *fault)
{
    run->patches = PATCH_JOB_NONE;
    run->patches.done = patches_done;
    run->tests.ran = test_ran;
    run->tests.done = tests_done;
    if (run->site->is_elsewhere && run->call.tests.count == 0)
        return send_elsewhere(run, fault); /* each test goes there by itself */
    return checker_is_for(&run->site->checker, run->call.arguments.snippet.language)
               ? start_check(run, fault)
               : start_program(run, fault);
}

bool call_run_is_waiting(const struct call_run *run)
{
    bool has_tests = run->tests.list != NULL;
    return run->is_checking ||
           (has_tests ? test_run_is_waiting(&run->tests) : launched_is_queued(&run->run));
}

void call_run_drop(struct call_run *run)
{
    if (!run->site->launcher.is_released)
        launched_cancel(&run->run);
    test_run_drop(&run->tests);
    fleet_ticket_drop(&run->ticket);
    check_drop(&run->check);
    findings_release(&run->check.findings);
    patch_job_drop(&run->patches);
    run_result_release(&run->ended);
    call_line_release(&run->call);
    buffer_release(&run->result);
}
