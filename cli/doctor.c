#include "cli/doctor.h"
#include "images/store/store.h"
#include "interpreter/base/end_signals.h"
#include "interpreter/base/helpers.h"
#include "interpreter/launcher.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/settings/tier_choice.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_STDERR 400 /* bytes of its last line, where a probe fails */

/* Since this version a user namespace has a count of processes of its own: setrlimit(2). */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 14

/* One examination, from the first step to the last. */
struct doctor {
    struct loop loop;
    struct launcher launcher;
    struct end_signals end_signals;
    struct template_probe template;
    struct examination *examination;
    size_t next; /* language to be tried */
    int64_t begun_at;
    bool interrupted;
};

const char *doctor_verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_OK] = "ok", [VERDICT_WEAK] = "weak", [VERDICT_NO] = "no"};
    return names[verdict];
}

static void examine_kernel(struct examination *examination)
{
    int major = 0;
    int minor = 0;
    uname(&examination->kernel);
    sscanf(examination->kernel.release, "%d.%d", &major, &minor);
    bool is_old = major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR);
    examination->kernel_verdict = is_old ? VERDICT_WEAK : VERDICT_OK;
}

/* What the image has in it, or that it is not there. Other faults are met again by the run. */
static void look_at_image(struct language_finding *finding)
{
    OWNED_MEMORY char *store = NULL;
    OWNED(image_release) struct image image = {0};
    int r = store_path(&store, NULL);
    if (r == 0)
        r = image_open(store, finding->image, &image, NULL);
    finding->is_absent = r == -ENOENT;
    if (r == 0)
        snprintf(finding->contents.text, sizeof(finding->contents.text), "%s", image.summary);
}

/* Where no jail can be made, nothing else needs to be tried: only whether the images are there. */
static void pass_over(struct examination *examination)
{
    static const char text[] = "cannot run here: see the line \"host\"";
    for (size_t i = 0; i < examination->language_count; i++) {
        struct language_finding *finding = &examination->languages[i];
        look_at_image(finding);
        fault_identify(&finding->message, examination->host.fault.id);
        fault_set(&finding->message, EPERM, "%s", text);
    }
    for (enum folder_mode mode = 0; mode < FOLDER_MODE_COUNT; mode++)
        fault_set(&examination->folder_faults[mode], EPERM, "%s", text);
    fault_set(&examination->limits_fault, EPERM, "%s", text);
}

static void examine_folders(struct examination *examination)
{
    for (enum folder_mode mode = 0; mode < FOLDER_MODE_COUNT; mode++)
        mount_mode_probe(mode, &examination->copies, &examination->folder_faults[mode]);
    OWNED_MEMORY char *program = NULL;
    if (helpers_find(CHANGES_PROGRAM, CHANGES_FOLDER, &program) < 0)
        fault_set(&examination->folder_faults[FOLDER_OVERLAY], ENOENT,
                  "the program " CHANGES_PROGRAM
                  ", which makes patches, is missing: install code-sandbox-mcp again");
}

static void try_next(struct doctor *doctor);

/* The last line that is not empty: of a traceback it says what happened. Not NUL-terminated. */
static const char *last_line(const struct buffer *text, size_t *ret_length)
{
    size_t end = text->length;
    while (end > 0 && text->data[end - 1] == '\n')
        end--;
    size_t begin = end;
    while (begin > 0 && text->data[begin - 1] != '\n' && end - begin < SHOWN_STDERR)
        begin--;
    *ret_length = end - begin;
    return end > 0 ? text->data + begin : "";
}

/* What the program did instead of answering: how it ended, and its last words. */
static void explain_probe(const struct run_result *result, struct fault *message)
{
    OWNED(buffer_release) struct buffer end = BUFFER(1024);
    const char *text = outcome_text_describe(result, &end) == 0 ? buffer_string(&end) : NULL;
    size_t length;
    const char *words = last_line(&result->err.head, &length);
    fault_set(message, EIO, "a test program that prints one word failed: %s%s%.*s",
              text != NULL ? text : "no memory", length > 0 ? "; " : "", (int)length, words);
}

static bool has_answered(const struct language *language, const struct run_result *result)
{
    const struct buffer *out = &result->out.head;
    const char *answer = language->probe_prints;
    return result->outcome == OUTCOME_EXITED && result->exit_code == 0 &&
           out->length == strlen(answer) && memcmp(out->data, answer, out->length) == 0;
}

static void probe_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct doctor *doctor = data;
    struct language_finding *finding = &doctor->examination->languages[doctor->next++];
    if (status >= 0 && result->network != NULL && result->network->is_plain)
        doctor->examination->has_no_rules = true;
    if (status < 0) {
        finding->message = *fault;
    } else if (has_answered(finding->language, result)) {
        finding->verdict = VERDICT_OK;
        finding->message = finding->contents;
        finding->run_ns = clock_now() - doctor->begun_at;
        if (finding->language->make_start != NULL)
            doctor->examination->template.language = finding->language;
    } else {
        explain_probe(result, &finding->message);
    }
    try_next(doctor);
}

/* Starts a program of the language. False: it cannot be started, the finding says why. */
static bool start_probe(struct doctor *doctor, struct language_finding *finding)
{
    look_at_image(finding);
    const char *probe = finding->language->probe;
    const struct snippet snippet = {
        .language = finding->language, .code = probe, .length = strlen(probe)};
    const struct run_observer observer = {.done = probe_done, .data = doctor};
    doctor->begun_at = clock_now();
    return launcher_start(&doctor->launcher, &snippet, &observer, NULL, &finding->message) == 0;
}

static void stop(void *data)
{
    struct doctor *doctor = data;
    loop_stop(&doctor->loop);
}

/* One after another, so that none slows the other down. */
static void try_next(struct doctor *doctor)
{
    struct examination *examination = doctor->examination;
    while (doctor->next < examination->language_count) {
        if (start_probe(doctor, &examination->languages[doctor->next]))
            return;
        doctor->next++;
    }
    template_probe_start(&doctor->template);
}

static void probed(void *data)
{
    struct doctor *doctor = data;
    struct examination *examination = doctor->examination;
    const struct engine_enforcement *found = engine_enforcement(doctor->launcher.engine);
    if (found != NULL) {
        examination->enforcement = *found;
        examination->is_probed = true;
        examination->landlock = engine_landlock(doctor->launcher.engine);
        bool is_strong = enforcement_is_cgroup(&found->enforced);
        bool is_required = examination->settings->require_cgroup;
        examination->limits_verdict =
            is_strong ? VERDICT_OK : (is_required ? VERDICT_NO : VERDICT_WEAK);
    }
    try_next(doctor);
}

static void interrupt(struct end_signals *end_signals, int signal_number)
{
    (void)signal_number;
    struct doctor *doctor = container_of(end_signals, struct doctor, end_signals);
    doctor->interrupted = true;
    loop_stop(&doctor->loop);
}

static void begin(struct examination *examination, const struct settings *settings)
{
    *examination = (struct examination){.settings = settings, .limits_verdict = VERDICT_NO};
    for (size_t i = 0; i < language_count; i++) {
        if (!settings_offer(settings, languages[i]))
            continue;
        examination->languages[examination->language_count++] = (struct language_finding){
            .language = languages[i],
            .image = settings_image(settings, languages[i]),
            .verdict = VERDICT_NO,
        };
    }
}

static void conclude(struct examination *examination)
{
    bool ran = false;
    bool failed = examination->limits_verdict == VERDICT_NO;
    for (size_t i = 0; i < examination->language_count; i++) {
        const struct language_finding *finding = &examination->languages[i];
        ran = ran || finding->verdict == VERDICT_OK;
        examination->absent_count += finding->is_absent;
        failed = failed || (finding->verdict == VERDICT_NO && !finding->is_absent);
    }
    examination->can_run = ran && !failed;
}

static void doctor_close(struct doctor *doctor)
{
    launcher_release(&doctor->launcher);
    end_signals_close(&doctor->end_signals);
    loop_close(&doctor->loop);
}

int doctor_examine(struct settings *settings, struct examination *ret_examination,
                   struct fault *fault)
{
    begin(ret_examination, settings);
    examine_kernel(ret_examination);
    struct host_finding *host = &ret_examination->host;
    int r = host_probe(TIER_COUNT - 1, host, fault);
    if (r < 0)
        return r;
    ret_examination->is_refused = !host->can_jail || host->tier > settings->weakest;
    r = tier_set(settings, host, fault);
    if (r < 0)
        return r;
    if (ret_examination->is_refused) {
        pass_over(ret_examination);
        conclude(ret_examination);
        return 0;
    }
    examine_folders(ret_examination);
    OWNED(doctor_close)
    struct doctor doctor = {
        .loop = {.epoll_fd = -1},
        .end_signals = INTERRUPTS(interrupt),
        .examination = ret_examination,
    };
    settings->compile_cache = 0; /* else compilers would not be tried */
    doctor.launcher = launcher_of(&doctor.loop, settings);
    template_probe_prepare(&doctor.launcher);
    doctor.template = (struct template_probe){.launcher = &doctor.launcher,
                                              .finding = &ret_examination->template,
                                              .done = stop,
                                              .data = &doctor};
    r = loop_open(&doctor.loop);
    if (r == 0)
        r = end_signals_open(&doctor.end_signals, &doctor.loop);
    if (r < 0)
        return fault_set(fault, -r, "waiting for signals: %m");
    r = launcher_probe(&doctor.launcher, probed, &doctor, &ret_examination->limits_fault);
    if (r < 0)
        try_next(&doctor); /* each language will say so, and whether its image is there */
    else if ((r = loop_run(&doctor.loop)) < 0)
        return fault_set(fault, -r, "waiting for a run: %m");
    conclude(ret_examination);
    return doctor.interrupted ? fault_set(fault, EINTR, "interrupted") : 0;
}
