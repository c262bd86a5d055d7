#include "interpreter/compiler.h"

#include "interpreter/compile_cache.h"
#include "interpreter/compile_key.h"
#include "interpreter/compiled.h"
#include "interpreter/kept_snippet.h"
#include "interpreter/preparation.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX (2 * (CODE_MAX + INPUT_BYTES_MAX))

/* A run, in the list of those of its compiler, and in that of its compilation while that goes on. */
struct compiled_run {
    struct compiled_run *previous, *next;
    struct compiler *compiler;
    struct kept_snippet kept; /* until it runs */
    struct run_observer observer;
    struct compilation *compilation; /* that it waits for; NULL: none */
    struct compiled *compiled; /* owned; what it is to run, until it does */
    struct run_compile *report; /* owned; then, what is told of its compiler */
    struct run *run; /* of the program; NULL: not yet */
    bool has_shown; /* what the compiler printed */
};

struct compilation {
    struct compilation *previous, *next;
    struct compiler *compiler;
    struct buffer key;
    int64_t wall_ms; /* limits of the compiler */
    uint64_t memory_bytes;
    struct run *run; /* of the compiler */
};

static void compilation_free(struct compilation *compilation)
{
    LIST_REMOVE(compilation->compiler->first, compilation);
    buffer_release(&compilation->key);
    free(compilation);
}

/* Copies the snippet, if not too much is kept already. 0 or a negative errno with its fault. */
static int keep(struct compiled_run *run, const struct snippet *snippet, struct fault *fault)
{
    struct compiler *compiler = run->compiler;
    int r = kept_snippet_make(snippet, &run->kept);
    compiler->kept_count++;
    compiler->kept_bytes += run->kept.size;
    if (r < 0)
        return fault_set(fault, -r, "starting a run: %m");
    if (compiler->kept_count == 1 ||
        (compiler->kept_count <= RUNS_QUEUED_MAX && compiler->kept_bytes <= RUNS_QUEUED_BYTES_MAX))
        return 0;
    fault_identify(fault, "queue_full");
    return fault_set(fault, EAGAIN, "%zu runs are waiting already; try again when some have ended",
                     compiler->kept_count - 1);
}

static void forget_kept(struct compiled_run *run)
{
    struct compiler *compiler = run->compiler;
    if (run->kept.size == 0)
        return;
    compiler->kept_count--;
    compiler->kept_bytes -= run->kept.size;
    kept_snippet_release(&run->kept);
}

static void compiled_run_free(struct compiled_run *run)
{
    LIST_REMOVE(run->compiler->runs, run);
    forget_kept(run);
    compiled_drop(run->compiled);
    if (run->report != NULL)
        run_compile_release(run->report);
    free(run->report);
    free(run);
}

/* One that waits for it; NULL: none does. */
static struct compiled_run *find_waiting(const struct compilation *compilation)
{
    struct compiled_run *run = compilation->compiler->runs;
    while (run != NULL && run->compilation != compilation)
        run = run->next;
    return run;
}

/* The observer may start another run, or end everything: the run is gone before. */
static void tell(struct compiled_run *run, int status, struct run_result *result,
                 const struct fault *fault)
{
    const struct run_observer observer = run->observer;
    compiled_run_free(run);
    observer.done(observer.data, status, result, fault);
}

/* What a compiler prints is no output of the program, but stands before it. */
static void show_messages(struct compiled_run *run, const struct capture *out,
                          const struct capture *err)
{
    if (run->has_shown)
        return;
    run->has_shown = true;
    run_observer_show(&run->observer, OUTPUT_STDERR, out);
    run_observer_show(&run->observer, OUTPUT_STDERR, err);
}

static void show_report(struct compiled_run *run)
{
    show_messages(run, &run->report->out, &run->report->err);
}

/* Copies what was printed, as far as it is kept. */
static int copy_capture(const struct capture *capture, struct capture *ret_copy)
{
    capture_open(ret_copy, capture->head.length + capture->tail.length + 4 * RUN_OUTPUT_TAIL);
    int r = capture_add(ret_copy, capture->head.data, capture->head.length);
    ret_copy->total = capture->total;
    ret_copy->cut = capture->cut;
    if (r == 0 && capture->tail.length > 0)
        r = buffer_append(&ret_copy->tail, capture->tail.data, capture->tail.length);
    return r;
}

/* What is told of the compiler when the program has ended; owned by the caller. NULL: no memory. */
static struct run_compile *copy_report(const struct run_compile *report)
{
    struct run_compile *copy = calloc(1, sizeof(*copy));
    if (copy == NULL)
        return NULL;
    *copy = *report;
    copy->out = copy->err = (struct capture){0};
    if (copy_capture(&report->out, &copy->out) == 0 && copy_capture(&report->err, &copy->err) == 0)
        return copy;
    run_compile_release(copy);
    free(copy);
    return NULL;
}

static void program_done(void *data, int status, struct run_result *result,
                         const struct fault *fault)
{
    struct compiled_run *run = data;
    run->run = NULL;
    if (status == 0) {
        show_report(run);
        result->compile = pointer_take(&run->report);
    }
    tell(run, status, result, fault);
}

static void program_printed(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    struct compiled_run *run = data;
    show_report(run);
    run->observer.output(run->observer.data, stream, bytes, length);
}

/* Starts the program of the run, which is known. 1: the queue is full, so that it waits. */
static int start_program(struct compiled_run *run, struct fault *fault)
{
    const struct run_observer observer = {
        .done = program_done,
        .output = run->observer.output != NULL ? program_printed : NULL,
        .data = run,
    };
    struct snippet *snippet = &run->kept.snippet;
    struct compile_share *share = snippet->share;
    snippet->compiled = run->compiled;
    OWNED(preparation_release) struct preparation preparation = {0};
    struct run_spec spec;
    if (run->report == NULL)
        run->report = copy_report(&run->compiled->report);
    if (run->report == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    int r = preparation_make(run->compiler->preparer, snippet, &preparation, &spec, fault);
    if (r == 0)
        r = run->compiler->submit(run->compiler, &preparation, &spec, &observer, &run->run, fault);
    bool is_full = r == -EAGAIN && fault->id != NULL && strcmp(fault->id, "queue_full") == 0;
    if (r < 0)
        return is_full ? 1 : r;
    forget_kept(run);
    struct compiled *compiled = pointer_take(&run->compiled);
    if (share != NULL && share->compiled == NULL) {
        share->compiled = compiled_use(compiled);
        share->ready(share);
    }
    compiled_drop(compiled);
    return 0;
}

/* Whether the queue had room. */
static bool start_or_fail(struct compiled_run *run)
{
    struct fault fault = {0};
    int r = start_program(run, &fault);
    if (r < 0)
        tell(run, r, NULL, &fault);
    return r <= 0;
}

/* It has a program, which the queue had no room for. */
static bool waits_for_room(const struct compiled_run *run)
{
    return run->compiled != NULL && run->run == NULL;
}

static struct compiled_run *find_oldest_for_room(const struct compiler *compiler)
{
    struct compiled_run *oldest = NULL;
    LIST_EACH (struct compiled_run, run, compiler->runs)
        if (waits_for_room(run))
            oldest = run;
    return oldest;
}

void compiler_go_on(struct compiler *compiler)
{
    struct compiled_run *run = find_oldest_for_room(compiler);
    while (run != NULL && start_or_fail(run))
        run = find_oldest_for_room(compiler);
}

/* To all that wait, and those that begin to wait meanwhile. */
static void tell_failure(struct compilation *compilation, int status, const struct fault *fault)
{
    struct compiled_run *run;
    while ((run = find_waiting(compilation)) != NULL) {
        run->compilation = NULL;
        tell(run, status, NULL, fault);
    }
}

static void copy_result(const struct run_result *result, struct run_result *ret_copy)
{
    *ret_copy = (struct run_result){
        .outcome = result->outcome,
        .exit_code = result->exit_code,
        .signal = result->signal,
        .queued_ns = result->queued_ns,
        .duration_ns = result->duration_ns,
        .cpu_ns = result->cpu_ns,
        .peak_memory_bytes = result->peak_memory_bytes,
        .peak_processes = result->peak_processes,
        .limits_reached = result->limits_reached,
        .limits = result->limits,
        .enforced = result->enforced,
        .isolation = result->isolation,
        .tier = result->tier,
        .start = result->start,
        .ended_lane = -1,
    };
}

/* The result of a run whose program could not be compiled. */
static int make_failed(const struct run_result *result, struct run_result *ret_failed)
{
    copy_result(result, ret_failed);
    int r = copy_capture(&result->out, &ret_failed->out);
    if (r == 0)
        r = copy_capture(&result->err, &ret_failed->err);
    ret_failed->compile = calloc(1, sizeof(*ret_failed->compile));
    if (r < 0 || ret_failed->compile == NULL)
        return -ENOMEM;
    *ret_failed->compile = (struct run_compile){
        .outcome = result->outcome,
        .exit_code = result->exit_code,
        .signal = result->signal,
        .duration_ns = result->duration_ns,
    };
    if (result->outcome == OUTCOME_CANCELLED)
        return 0;
    ret_failed->outcome = OUTCOME_COMPILE_FAILED;
    ret_failed->exit_code = -1;
    ret_failed->signal = 0;
    return 0;
}

static void tell_failed(struct compilation *compilation, const struct run_result *result)
{
    struct compiled_run *run;
    while ((run = find_waiting(compilation)) != NULL) {
        OWNED(run_result_release) struct run_result failed = {0};
        struct fault fault = {0};
        run->compilation = NULL;
        int r = make_failed(result, &failed);
        if (r < 0)
            fault_set(&fault, -r, "no memory for what the compiler printed");
        show_messages(run, &result->out, &result->err);
        tell(run, r, r == 0 ? &failed : NULL, &fault);
    }
}

static void run_waiting(struct compilation *compilation, struct compiled *compiled)
{
    struct compiled_run *run;
    while ((run = find_waiting(compilation)) != NULL) {
        run->compilation = NULL;
        run->compiled = compiled_use(compiled);
        start_or_fail(run);
    }
}

static bool keeps_programs(const struct compiler *compiler)
{
    return compiler->settings->compile_cache > 0 && compiler->settings->folders.count == 0;
}

static void take_program(struct compilation *compilation, const struct run_result *result)
{
    struct compiled *compiled = NULL;
    struct fault fault = {0};
    int r = compiled_make(result, &compiled, &fault);
    if (r < 0) {
        tell_failure(compilation, r, &fault);
        return;
    }
    if (keeps_programs(compilation->compiler))
        compile_cache_add(&compilation->key, compiled,
                          compilation->compiler->settings->compile_cache);
    run_waiting(compilation, compiled);
    compiled_drop(compiled);
}

static void compiler_done(void *data, int status, struct run_result *result,
                          const struct fault *fault)
{
    struct compilation *compilation = data;
    compilation->run = NULL;
    if (status < 0)
        tell_failure(compilation, status, fault);
    else if (result->outcome == OUTCOME_EXITED && result->exit_code == 0)
        take_program(compilation, result);
    else
        tell_failed(compilation, result);
    compilation_free(compilation);
}

/*
 * One with other limits is another one: it may fail where this would not, or take longer than this may. With folders each is,
 * since their files may have changed.
 */
static struct compilation *find_same(const struct compiler *compiler, const struct run_spec *spec,
                                     const struct buffer *key)
{
    struct compilation *it = compiler->settings->folders.count == 0 ? compiler->first : NULL;
    while (it != NULL &&
           (it->run == NULL || it->wall_ms != spec->limits.wall_ms ||
            it->memory_bytes != spec->limits.memory_bytes || it->key.length != key->length ||
            memcmp(it->key.data, key->data, key->length) != 0))
        it = it->next;
    return it;
}

static int start_compiler(struct compiled_run *run, struct preparation *preparation,
                          const struct run_spec *spec, struct buffer *key, struct fault *fault)
{
    struct compilation *compilation = calloc(1, sizeof(*compilation));
    if (compilation == NULL)
        return fault_set(fault, ENOMEM, "starting a compiler: %m");
    compilation->compiler = run->compiler;
    compilation->wall_ms = spec->limits.wall_ms;
    compilation->memory_bytes = spec->limits.memory_bytes;
    compilation->key = *key;
    *key = BUFFER(0);
    LIST_PREPEND(run->compiler->first, compilation);
    const struct run_observer observer = {.done = compiler_done, .data = compilation};
    int r = run->compiler->submit(run->compiler, preparation, spec, &observer, &compilation->run,
                                  fault);
    if (r < 0)
        compilation_free(compilation);
    else
        run->compilation = compilation;
    return r;
}

/* Takes the program if it is there, waits for it if it is being compiled, or has it compiled. 1 as start_program(). */
static int start_phase(struct compiled_run *run, struct fault *fault)
{
    OWNED(preparation_release) struct preparation preparation = {0};
    OWNED(buffer_release) struct buffer key = BUFFER(KEY_MAX);
    struct compiler *compiler = run->compiler;
    struct snippet snippet = run->kept.snippet;
    struct run_spec spec;
    if (snippet.share != NULL && snippet.share->compiled != NULL) {
        run->compiled = compiled_use(snippet.share->compiled);
        return start_program(run, fault);
    }
    snippet.is_for_compiler = true;
    if (snippet.share != NULL) {
        snippet.inputs = snippet.share->inputs;
        snippet.input_count = snippet.share->input_count;
    }
    int r = preparation_make(compiler->preparer, &snippet, &preparation, &spec, fault);
    if (r < 0)
        return r;
    spec.folders = &compiler->folders;
    r = compile_key_write(&spec, &preparation.used->record, &key);
    if (r < 0)
        return fault_set(fault, -r, "starting a compiler: %m");
    run->compilation = find_same(compiler, &spec, &key);
    if (run->compilation != NULL)
        return 0;
    if (keeps_programs(compiler))
        run->compiled = compile_cache_find(&key);
    return run->compiled != NULL ? start_program(run, fault)
                                 : start_compiler(run, &preparation, &spec, &key, fault);
}

static int make_folders(struct compiler *compiler, struct fault *fault)
{
    const struct folders *given = &compiler->settings->folders;
    struct folders *folders = &compiler->folders;
    if (folders->list != NULL || given->count == 0)
        return 0;
    folders->list = calloc(given->count, sizeof(*folders->list));
    if (folders->list == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    for (; folders->count < given->count; folders->count++) {
        folders->list[folders->count] = given->list[folders->count];
        folders->list[folders->count].mode = FOLDER_READ_ONLY;
    }
    return 0;
}

int compiled_run_start(struct compiler *compiler, const struct snippet *snippet,
                       const struct run_observer *observer, struct compiled_run **ret_run,
                       struct fault *fault)
{
    if (compiler->settings->engine.tier == TIER_L)
        return fault_set(
            fault, ENOTSUP,
            "%s needs a compiler, which cannot run in tier L: compiled languages need a "
            "host that allows namespaces (code-sandbox-mcp doctor)",
            snippet->language->title);
    struct compiled_run *run = calloc(1, sizeof(*run));
    if (run == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    *run = (struct compiled_run){.compiler = compiler, .observer = *observer};
    LIST_PREPEND(compiler->runs, run);
    int r = keep(run, snippet, fault);
    if (r == 0)
        r = make_folders(compiler, fault);
    if (r == 0)
        r = start_phase(run, fault);
    if (r < 0) {
        compiled_run_free(run);
        return r;
    }
    *ret_run = run;
    return 0;
}

/* The run of the engine that it is in now; NULL: between the two. */
static struct run *phase_of(const struct compiled_run *run)
{
    return run->compilation != NULL ? run->compilation->run : run->run;
}

int compiled_run_signal(const struct compiled_run *run, int signal_number)
{
    struct run *phase = phase_of(run);
    return phase != NULL ? engine_signal(phase, signal_number) : -ESRCH;
}

void compiled_run_stop(const struct compiled_run *run)
{
    struct run *phase = phase_of(run);
    if (phase != NULL)
        engine_stop(phase);
}

void compiled_run_cancel(struct compiled_run *run)
{
    struct compilation *compilation = run->compilation;
    if (run->run != NULL)
        engine_cancel(run->run);
    compiled_run_free(run);
    if (compilation == NULL || compilation->run == NULL || find_waiting(compilation) != NULL)
        return; /* without a run it is just ending */
    engine_cancel(compilation->run);
    compilation_free(compilation);
}

bool compiled_run_is_queued(const struct compiled_run *run)
{
    const struct run *phase = phase_of(run);
    return phase != NULL ? engine_is_queued(phase) : waits_for_room(run);
}

bool compiled_run_is_compiling(const struct compiled_run *run)
{
    return run->compilation != NULL;
}

void compiled_run_check_limits(const struct compiled_run *run)
{
    struct run *phase = phase_of(run);
    if (phase != NULL)
        engine_check_limits(phase);
}

void compiler_release(struct compiler *compiler)
{
    while (compiler->runs != NULL)
        compiled_run_free(compiler->runs);
    while (compiler->first != NULL)
        compilation_free(compiler->first);
    free(compiler->folders.list);
    compiler->folders = (struct folders){0};
}
