#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/doctor_environment.h"
#include "cli/doctor_folders.h"
#include "cli/doctor_profiles.h"
#include "cli/doctor_workers.h"
#include "cli/rlimit_notes.h"
#include "cli/terminal.h"
#include "images/store/catalog.h"
#include "interpreter/base/log.h"
#include "interpreter/network_text.h"
#include "interpreter/result/result_json.h"
#include "interpreter/rules/rules.h"
#include "interpreter/settings/quantity.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/network/network.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define REPORT_MAX (256 * KIBIBYTE)

struct doctor_options {
    struct settings settings;
    bool json;
    bool is_long;
    const char *profile; /* to be printed instead; NULL: none */
};

static int apply_json(void *data, const struct option *option, const char *value,
                      struct fault *fault)
{
    (void)option;
    (void)value;
    (void)fault;
    struct doctor_options *options = data;
    options->json = true;
    return 0;
}

static int apply_profile(void *data, const struct option *option, const char *value,
                         struct fault *fault)
{
    struct doctor_options *options = data;
    if (!doctor_profiles_have(value))
        return fault_set(fault, EINVAL, "%s must be apparmor, docker or kubernetes, not \"%s\"",
                         option->name, value);
    options->profile = value;
    return 0;
}

static const struct option own_options[] = {
    {"--json", NULL, "print one JSON object", apply_json, NULL},
    {"--long", NULL, "name all libraries of an image", option_set_flag,
     .offset = offsetof(struct doctor_options, is_long)},
    {"--profile", "apparmor|docker|kubernetes",
     "print a file for an administrator to install, so\nthat sandboxes can be made; docker: for seccomp",
     apply_profile, NULL},
    {0},
};

static double milliseconds_of(int64_t nanoseconds)
{
    return (double)(nanoseconds / 1000) / 1000;
}

static void print_kernel(const struct examination *examination)
{
    char text[256];
    snprintf(text, sizeof(text), "%s %s%s", examination->kernel.sysname,
             examination->kernel.release,
             examination->kernel_verdict == VERDICT_OK
                 ? ""
                 : ": snippets share their process limit with your other processes; Linux 5.14 and "
                   "later count them separately");
    terminal_print_finding(examination->kernel_verdict, "kernel", text);
}

static const char *cause_of(const struct host_finding *host)
{
    return host->remedy.cause[0] != '\0' ? host->remedy.cause : host->fault.text;
}

static void print_host(const struct examination *examination)
{
    const struct host_finding *host = &examination->host;
    if (host->can_jail && host->tier == TIER_F) {
        terminal_print_finding(VERDICT_OK, "host", "lets a sandbox be made");
        return;
    }
    terminal_print_finding(examination->is_refused ? VERDICT_NO : VERDICT_WEAK, "host",
                           cause_of(host));
    if (host->remedy.action[0] != '\0')
        printf("      %-11s %s\n", "remedy", host->remedy.action);
    if (!host->can_jail && host->weaker_fault.text[0] != '\0')
        printf("      %-11s none of --weaker: %s\n", "tier", host->weaker_fault.text);
    if (!host->can_jail)
        return;
    printf("      %-11s ", "tier");
    printf(examination->is_refused ? "with --weaker %s sandboxes can be made, see SECURITY.md\n"
                                   : "%s, by your leave (--weaker)\n",
           tier_name(host->tier));
}

static void print_language(const struct language_finding *finding, bool is_long)
{
    char text[FAULT_TEXT_MAX + 256];
    char contents[FAULT_TEXT_MAX];
    if (finding->verdict == VERDICT_OK) {
        if (is_long)
            snprintf(contents, sizeof(contents), "%s", finding->message.text);
        else
            terminal_shorten(finding->message.text, contents, sizeof(contents));
        snprintf(text, sizeof(text), "ran in %.1f ms on image %s%s%s",
                 milliseconds_of(finding->run_ns), finding->image, contents[0] != '\0' ? ": " : "",
                 contents);
    } else {
        snprintf(text, sizeof(text), "%s", finding->message.text);
    }
    terminal_print_finding(finding->verdict, finding->language->name, text);
}

static const char *describe_source(enum cgroup_source source)
{
    switch (source) {
    case CGROUP_OWN:
        return "cgroups below the one of this program";
    case CGROUP_SYSTEMD:
        return "cgroups in a systemd scope";
    case CGROUP_NONE:
        break;
    }
    return "no cgroups";
}

static const char *describe_enforcer(enum enforced_by mechanism)
{
    switch (mechanism) {
    case ENFORCED_BY_CGROUP:
        return "enforced by a cgroup";
    case ENFORCED_BY_RLIMIT:
        return "enforced by an rlimit";
    case ENFORCED_BY_POLLING:
        break;
    }
    return "polled by the server, which kills a run over the limit";
}

static void print_limit(const char *what, const char *value, const char *how)
{
    printf("      %-11s %s, %s\n", what, value, how);
}

static void print_settled_limits(const struct examination *examination)
{
    const struct run_limits *limits = &examination->settings->limits;
    const struct enforcement *enforced = &examination->enforcement.enforced;
    char text[64];
    print_limit("memory", quantity_size_text(limits->memory_bytes).text,
                describe_enforcer(enforced->memory));
    snprintf(text, sizeof(text), "%" PRIu64, limits->processes);
    print_limit("processes", text, describe_enforcer(enforced->processes));
    snprintf(text, sizeof(text), "%.8g", (double)limits->millicpus / 1000);
    print_limit("processors", text, describe_enforcer(enforced->cpu));
}

static void print_limits(const struct examination *examination)
{
    const struct settings *settings = examination->settings;
    const struct run_limits *limits = &settings->limits;
    const char *fallback_reason = examination->enforcement.fallback_reason.text;
    const char *text =
        !examination->is_probed
            ? examination->limits_fault.text
            : (fallback_reason[0] != '\0' ? fallback_reason
                                          : describe_source(examination->enforcement.source));
    terminal_print_finding(examination->limits_verdict, "limits", text);
    if (examination->is_probed)
        print_settled_limits(examination);
    char time[64];
    snprintf(time, sizeof(time), "%.8g s", quantity_seconds(limits->wall_ms));
    char most[64];
    snprintf(most, sizeof(most), "at most %.8g s if a call asks for it",
             quantity_seconds(settings->wall_max_ms));
    print_limit("time", time, most);
    print_limit("files", quantity_size_text(limits->disk_bytes).text,
                "in all writable directories together");
    print_limit("output", quantity_size_text(limits->output_kept).text,
                "kept of stdout, and as much of stderr");
}

static void print_sessions(const struct settings *settings)
{
    char text[128];
    if (settings->sessions == 0)
        snprintf(text, sizeof(text), "off: --sessions 0");
    else
        snprintf(text, sizeof(text), "%" PRIu64 " at once; one ends after %.8g s without a call",
                 settings->sessions, quantity_seconds(settings->session_idle_ms));
    terminal_print_finding(VERDICT_OK, "sessions", text);
}

static void print_template(const struct examination *examination)
{
    const struct template_finding *finding = &examination->template;
    char text[256];
    if (examination->is_refused)
        return;
    if (finding->is_off)
        snprintf(text, sizeof(text), "%s", finding->reason);
    else if (finding->works)
        snprintf(text, sizeof(text), "a program ran in a fork in %.1f ms",
                 milliseconds_of(finding->run_ns));
    else
        snprintf(text, sizeof(text), "%s: each sandbox is started", finding->reason);
    terminal_print_finding(finding->works || finding->is_off ? VERDICT_OK : VERDICT_WEAK,
                           "template", text);
}

static void print_conclusion(const struct examination *examination)
{
    if (examination->can_run)
        puts("\nSnippets can run.");
    else if (examination->is_refused)
        puts("\nSnippets cannot run on this host: the line \"host\" has the cause.");
    else if (examination->absent_count == examination->language_count)
        puts("\nSnippets cannot run: there is no image. Fetch one with: code-sandbox-mcp "
             "fetch " AGENT_IMAGE);
    else
        puts("\nNot all snippets can run: see the lines that begin with no.");
}

static void print_network(const struct examination *examination)
{
    const struct policy *policy = &examination->settings->network;
    OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
    buffer_format(&text, "%s", network_mode_name(policy->mode));
    if (policy->mode == NETWORK_ON)
        buffer_append_text(&text, ": all public hosts");
    if (policy->rules[RULES_ALLOW].count + policy->rules[RULES_MAP].count > 0) {
        buffer_append_text(&text, policy->mode == NETWORK_ON ? "; and " : ": ");
        network_text_list(policy, &text);
    }
    if (policy->mode != NETWORK_OFF)
        buffer_append_text(&text,
                           network_may_ping()
                               ? "; ping"
                               : "; no ping: net.ipv4.ping_group_range does not have your group");
    if (examination->has_no_rules)
        buffer_append_text(&text, "; this kernel has no routing rules "
                                  "(CONFIG_IP_MULTIPLE_TABLES): ports 53, 80, 443 and those that "
                                  "rules name, and no others");
    const char *line = buffer_string(&text);
    terminal_print_finding(examination->has_no_rules ? VERDICT_WEAK : VERDICT_OK, "network",
                           line != NULL ? line : "no memory");
}

/* What it guards in a tier, beside what else does. */
static void print_landlock(const struct examination *examination)
{
    static const char *const others[TIER_COUNT] = {
        [TIER_F] = "the mounts", [TIER_P] = "the mounts", [TIER_C] = "the root directory"};
    enum tier tier = examination->host.tier;
    int version = examination->landlock;
    char text[256];
    if (version == 0)
        snprintf(text, sizeof(text), "not available before Linux 5.19: only %s restricts files",
                 others[tier]);
    else if (tier < TIER_L)
        snprintf(text, sizeof(text), "version %d: restricts file access, in addition to %s",
                 version, others[tier]);
    else
        snprintf(text, sizeof(text), "version %d: the only wall before your files%s", version,
                 version < LANDLOCK_SCOPES ? "; programs cannot signal each other, because it "
                                             "does not guard signals before Linux 6.12"
                                           : "");
    bool is_weak = version == 0 || (tier == TIER_L && version < LANDLOCK_SCOPES);
    terminal_print_finding(is_weak ? VERDICT_WEAK : VERDICT_OK, "landlock", text);
}

static void print_report(const struct examination *examination, bool is_long)
{
    print_host(examination);
    print_kernel(examination);
    if (examination->settings->configuration_read != NULL)
        terminal_print_finding(VERDICT_OK, "settings", examination->settings->configuration_read);
    doctor_environment_print(examination->settings, terminal_print_finding);
    for (size_t i = 0; i < examination->language_count; i++)
        print_language(&examination->languages[i], is_long);
    if (examination->is_probed)
        print_landlock(examination);
    doctor_folders_print(examination, terminal_print_finding);
    print_limits(examination);
    rlimit_notes_print(&examination->settings->limits, terminal_print_finding);
    print_network(examination);
    if (examination->settings->policy != NULL)
        terminal_print_finding(VERDICT_OK, "policy", examination->settings->policy);
    print_sessions(examination->settings);
    print_template(examination);
    print_conclusion(examination);
}

/* The tier and the walls of its sandboxes, if the settings allow it. */
static void write_host(struct json_writer *writer, const struct examination *examination)
{
    static const char *const of_namespaces[] = {"user", "pid",    "network", "mount", "ipc",
                                                "uts",  "cgroup", "seccomp", NULL};
    static const char *const of_chroot[] = {"uid", "chroot", "seccomp", NULL};
    static const char *const of_host[] = {"seccomp", NULL};
    const struct host_finding *host = &examination->host;
    bool is_made = !examination->is_refused;
    bool is_full = is_made && host->tier == TIER_F;
    const char *action = host->remedy.action;
    json_text_member(writer, "tier", is_made ? tier_name(host->tier) : NULL);
    json_key(writer, "walls");
    json_begin_array(writer);
    const char *const *walls = host->tier < TIER_C    ? of_namespaces
                               : host->tier == TIER_C ? of_chroot
                                                      : of_host;
    for (size_t i = 0; is_made && walls[i] != NULL; i++)
        json_text(writer, walls[i]);
    if (is_made && host->landlock > 0)
        json_text(writer, "landlock");
    json_end_array(writer);
    json_text_member(writer, "cause", is_full ? NULL : cause_of(host));
    json_text_member(writer, "remedy", action[0] != '\0' ? action : NULL);
    json_text_member(writer, "weaker",
                     host->can_jail && host->tier != TIER_F ? tier_name(host->tier) : NULL);
}

static void write_languages(struct json_writer *writer, const struct examination *examination)
{
    json_begin_array(writer);
    for (size_t i = 0; i < examination->language_count; i++) {
        const struct language_finding *finding = &examination->languages[i];
        json_begin_object(writer);
        json_text_member(writer, "name", finding->language->name);
        json_text_member(writer, "image", finding->image);
        json_boolean_member(writer, "ok", finding->verdict == VERDICT_OK);
        json_text_member(writer, "message", finding->message.text);
        if (finding->message.id != NULL)
            json_text_member(writer, "error_id", finding->message.id);
        json_key(writer, "run_ms");
        if (finding->verdict == VERDICT_OK)
            json_double(writer, milliseconds_of(finding->run_ns));
        else
            json_null(writer);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_values(struct json_writer *writer, const struct settings *settings)
{
    const struct run_limits *limits = &settings->limits;
    json_begin_object(writer);
    json_number_member(writer, "memory_bytes", (int64_t)limits->memory_bytes);
    json_number_member(writer, "processes", (int64_t)limits->processes);
    json_key(writer, "cpus");
    json_double(writer, (double)limits->millicpus / 1000);
    json_key(writer, "timeout_seconds");
    json_double(writer, quantity_seconds(limits->wall_ms));
    json_key(writer, "timeout_max_seconds");
    json_double(writer, quantity_seconds(settings->wall_max_ms));
    json_number_member(writer, "disk_bytes", (int64_t)limits->disk_bytes);
    json_number_member(writer, "output_bytes", (int64_t)limits->output_kept);
    json_number_member(writer, "sessions", (int64_t)settings->sessions);
    json_key(writer, "session_idle_seconds");
    json_double(writer, quantity_seconds(settings->session_idle_ms));
    json_end_object(writer);
}

static void write_limits(struct json_writer *writer, const struct examination *examination)
{
    const struct engine_enforcement *enforcement = &examination->enforcement;
    const char *reason =
        examination->is_probed ? enforcement->fallback_reason.text : examination->limits_fault.text;
    json_begin_object(writer);
    json_text_member(writer, "tier",
                     examination->is_probed ? enforcement_tier(&enforcement->enforced) : NULL);
    json_text_member(writer, "source",
                     examination->is_probed ? cgroup_source_name(enforcement->source) : NULL);
    json_text_member(writer, "reason", reason[0] != '\0' ? reason : NULL);
    if (examination->is_probed)
        result_json_write_enforcement(writer, &enforcement->enforced);
    json_key(writer, "values");
    write_values(writer, examination->settings);
    json_end_object(writer);
}

static void write_network(struct json_writer *writer, const struct policy *policy)
{
    json_begin_object(writer);
    json_text_member(writer, "mode", network_mode_name(policy->mode));
    json_boolean_member(writer, "ping", policy->mode != NETWORK_OFF && network_may_ping());
    json_key(writer, "hosts");
    json_begin_array(writer);
    static const enum rule_list lists[] = {RULES_ALLOW, RULES_MAP};
    for (size_t l = 0; l < ARRAY_LENGTH(lists); l++) {
        for (size_t i = 0; i < policy->rules[lists[l]].count; i++)
            json_text(writer, policy->rules[lists[l]].list[i].text);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static int print_json(const struct examination *examination)
{
    OWNED(buffer_release) struct buffer text = BUFFER(REPORT_MAX);
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_text_member(writer, "version", PROJECT_VERSION);
    json_text_member(writer, "kernel", examination->kernel.release);
    json_text_member(writer, "configuration", examination->settings->configuration_read);
    json_boolean_member(writer, "ok", examination->can_run);
    write_host(writer, examination);
    json_key(writer, "languages");
    write_languages(writer, examination);
    json_number_member(writer, "landlock", examination->landlock);
    json_key(writer, "environment");
    doctor_environment_write(writer, examination->settings);
    json_key(writer, "folders");
    doctor_folders_write(writer, examination);
    json_key(writer, "network");
    write_network(writer, &examination->settings->network);
    json_text_member(writer, "policy", examination->settings->policy);
    json_key(writer, "template");
    template_finding_write(writer, examination->settings, &examination->template);
    json_key(writer, "limits");
    write_limits(writer, examination);
    json_key(writer, "rlimits");
    rlimit_notes_write(writer, &examination->settings->limits);
    json_end_object(writer);
    r = json_writer_close(writer);
    if (r == 0)
        printf("%.*s\n", (int)text.length, text.data);
    return r;
}

static void doctor_options_release(struct doctor_options *options)
{
    settings_release(&options->settings);
}

static int print_profile(const char *name)
{
    struct fault fault = {0};
    if (doctor_profiles_print(name, &fault) == 0)
        return EXIT_DONE;
    log_note("%s", fault.text);
    return EXIT_FAILED;
}

static int doctor(const struct command *command, int argc, char **argv)
{
    OWNED(doctor_options_release)
    struct doctor_options options = {.settings = settings_default()};
    void *const data[] = {&options,          &options.settings, &options.settings,
                          &options.settings, &options.settings, &options.settings};
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    struct fault fault = {0};
    if (operands > 0)
        fault_set(&fault, EINVAL, "\"%.*s\" is not expected here", command_shown_length(argv[0]),
                  argv[0]);
    else if (settings_read(&options.settings, &fault) == 0 &&
             settings_read_check_server(&options.settings, &fault) == 0 &&
             settings_read_workers(&options.settings, &fault) == 0)
        rules_try(options.settings.policy, &fault);
    if (fault.text[0] != '\0')
        return command_refuse(command, &fault);
    if (options.profile != NULL)
        return print_profile(options.profile);
    if (options.settings.fleet.url != NULL)
        return doctor_workers(&options.settings, options.json);
    struct examination examination;
    int r = doctor_examine(&options.settings, &examination, &fault);
    if (r == 0 && options.json)
        r = print_json(&examination);
    else if (r == 0)
        print_report(&examination, options.is_long);
    if (r < 0)
        log_note("%s", fault.text[0] != '\0' ? fault.text : "no memory for the report");
    overlay_place_release(&examination.copies);
    return r == 0 && examination.can_run ? EXIT_DONE : EXIT_FAILED;
}

static const struct option *const doctor_options[] = {own_options, SETTINGS_OF_ALL, NULL};

const struct command command_doctor = {
    .name = "doctor",
    .usage = "doctor [--json | --long | --profile NAME] [OPTION...]",
    .summary = "check whether snippets can run here, and how limits are enforced",
    .help =
        "Tries whether this host lets sandboxes be made, for which it needs no image, runs a small\n"
        "program on each image and reports the mechanism behind each limit, with the options,\n"
        "variables and configuration file of a server. Each line begins with ok, weak (it works,\n"
        "with a weakness) or no. Exit status 0 means snippets can run. With --workers, it lists workers\n"
        "instead, and which of them have the images that are here.\n",
    .options = doctor_options,
    .run = doctor,
};
