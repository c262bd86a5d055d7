#include "cli/doctor_template.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/filter.h"

#include <stdio.h>
#include <string.h>

#define TRIES_MAX 20
#define PAUSE_MS 250 /* for the template to start */
#define PREWARMED 1  /* sandboxes that it forks ahead */

/* What rules it out; NULL: nothing that is known before it is tried. */
static const char *reason_against(const struct settings *settings, char more[TEMPLATE_REASON_SIZE])
{
    char call[FILTER_CALL_SIZE];
    bool is_within = filter_is_within_default(settings->profile, call);
    snprintf(more, TEMPLATE_REASON_SIZE,
             "off: the profile of --seccomp-profile allows %s, and the built-in one does not",
             call);
    return settings->template == SWITCH_OFF ? "off"
           : settings->engine.warm == 0     ? "off: not available with --warm 0"
           : !is_within                     ? more
           : folders_have(&settings->folders, FOLDER_WRITABLE)
               ? "off: not available with a folder of mode rw"
           : folders_have(&settings->folders, FOLDER_OVERLAY) && settings->engine.uppers != NULL
               ? "off: not available with copies of folders on disk"
           : settings->engine.tier != TIER_F ? "off: available in tier F only"
                                             : NULL;
}

void template_probe_prepare(struct launcher *launcher)
{
    char text[TEMPLATE_REASON_SIZE];
    launcher->preparer.has_templates = reason_against(launcher->settings, text) == NULL;
    launcher->warm = launcher->preparer.has_templates ? PREWARMED : 0;
}

static void run(struct template_probe *probe);

static void run_again(struct loop_timer *timer)
{
    run(container_of(timer, struct template_probe, again));
}

static void set_reason(struct template_finding *finding, const char *reason)
{
    snprintf(finding->reason, sizeof(finding->reason), "%.*s", TEMPLATE_REASON_SIZE - 1, reason);
}

/* Whether there is to be another run. */
static bool take_result(struct template_probe *probe, const struct run_result *result)
{
    struct template_finding *finding = probe->finding;
    finding->works = result->start == START_FORKED && result->outcome == OUTCOME_EXITED;
    finding->run_ns = clock_now() - probe->begun_at;
    const char *failure = engine_template_failure(probe->launcher->engine);
    bool is_known = failure[0] != '\0';
    set_reason(finding, finding->works ? "" : is_known ? failure : "no fork could be made");
    return !finding->works && !is_known && probe->tries < TRIES_MAX;
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct template_probe *probe = data;
    if (status < 0)
        set_reason(probe->finding, fault->text);
    if (status >= 0 && take_result(probe, result))
        loop_arm(probe->launcher->loop, &probe->again,
                 clock_now() + PAUSE_MS * NANOSECONDS_PER_MILLISECOND);
    else
        probe->done(probe->data);
}

static void run(struct template_probe *probe)
{
    const struct language *language = probe->finding->language;
    const struct snippet snippet = {
        .language = language, .code = language->probe, .length = strlen(language->probe)};
    const struct run_observer observer = {.done = run_done, .data = probe};
    probe->tries++;
    probe->begun_at = clock_now();
    struct fault fault = {0};
    int r = launcher_start(probe->launcher, &snippet, &observer, NULL, &fault);
    if (r < 0)
        run_done(probe, r, NULL, &fault);
}

void template_probe_start(struct template_probe *probe)
{
    probe->again = (struct loop_timer){.fire = run_again};
    struct template_finding *finding = probe->finding;
    char text[TEMPLATE_REASON_SIZE];
    const char *reason = reason_against(probe->launcher->settings, text);
    if (reason == NULL && finding->language == NULL)
        reason = "off: there is no Python to fork";
    else if (reason == NULL && engine_landlock(probe->launcher->engine) == 0)
        reason = "off: this kernel has no Landlock";
    finding->is_off = reason != NULL;
    if (finding->is_off) {
        set_reason(finding, reason);
        probe->done(probe->data);
    } else {
        run(probe);
    }
}

void template_finding_write(struct json_writer *writer, const struct settings *settings,
                            const struct template_finding *finding)
{
    bool is_wanted = settings->template == SWITCH_AUTO;
    json_begin_object(writer);
    json_text_member(writer, "mode", is_wanted ? "auto" : "off");
    json_boolean_member(writer, "ok", finding->works);
    json_text_member(writer, "message",
                     is_wanted && finding->reason[0] != '\0' ? finding->reason : NULL);
    json_key(writer, "run_ms");
    if (finding->works)
        json_double(writer, (double)(finding->run_ns / 1000) / 1000);
    else
        json_null(writer);
    json_end_object(writer);
}
