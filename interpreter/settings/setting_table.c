#include "interpreter/settings/setting_table.h"
#include "images/store/catalog.h"
#include "images/store/store.h"
#include "interpreter/base/bounds.h"
#include "interpreter/settings/home_path.h"
#include "interpreter/settings/network_presets.h"
#include "interpreter/settings/network_settings.h"
#include "interpreter/settings/preload.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SETTING(...) (&(const struct setting){__VA_ARGS__})
#define NETWORK_LIMIT_MAX (UINT64_C(1) << 50)
#define AT(member) .offset = offsetof(struct settings, member)

static const char *const result_formats[] = {
    [RESULT_TEXT] = "text", [RESULT_JSON] = "json", [RESULT_STRUCTURED] = "structured", NULL};

static const char *const network_modes[] = {
    [NETWORK_OFF] = "off", [NETWORK_ALLOW] = "allow", [NETWORK_ON] = "on", NULL};

/* Those besides TIER_F, which needs no leave. */
static const char *const tiers[] = {
    [TIER_F] = "none", [TIER_P] = "P", [TIER_C] = "C", [TIER_L] = "L", NULL};

static const char *const switches[] = {[SWITCH_OFF] = "off", [SWITCH_AUTO] = "auto", NULL};

static const char *const log_levels[] = {[LOG_WARNINGS] = "warning", [LOG_CALLS] = "info", NULL};
static const char *const log_formats[] = {[LOG_TEXT] = "text", [LOG_JSON] = "json", NULL};

static void write_image_help(const struct option *option, char *text, size_t size)
{
    size_t place = (option->setting->offset - offsetof(struct settings, images)) / sizeof(char *);
    const struct language *language = languages[place];
    snprintf(text, size, "image for %s (%s, else %s)", language->title, language->image,
             AGENT_IMAGE);
}

const struct option settings_of_runs[] = {
    {"--memory", "SIZE",
     "memory of a snippet, including its files\n(2G, at most half of the machine's)",
     settings_remember,
     SETTING(SETTING_SIZE, "SANDBOX_MEMORY", "memory", AT(limits.memory_bytes),
             .low = RUN_MEMORY_MIN, .high = RUN_MEMORY_MAX)},
    {"--cpus", "N", "processors; 0.5 is half of one (4)", settings_remember,
     SETTING(SETTING_PROCESSORS, "SANDBOX_CPUS", "cpus", AT(limits.millicpus),
             .low = RUN_MILLICPUS_MIN, .high = RUN_MILLICPUS_MAX)},
    {"--pids", "N", "processes and threads (256)", settings_remember,
     SETTING(SETTING_COUNT, "SANDBOX_PIDS", "pids", AT(limits.processes), .low = 1,
             .high = RUN_PROCESSES_MAX)},
    {"--timeout", "SECONDS", "running time (30)", settings_remember,
     SETTING(SETTING_SECONDS, "SANDBOX_TIMEOUT", "timeout", AT(limits.wall_ms), .low = 1,
             .high = RUN_WALL_MAX_MS)},
    {"--disk", "SIZE", "total size of written files (256M)", settings_remember,
     SETTING(SETTING_SIZE, "SANDBOX_DISK", "disk", AT(limits.disk_bytes), .low = RUN_DISK_MIN,
             .high = RUN_DISK_MAX)},
    {"--output", "SIZE", "how much of stdout, and of stderr, is kept (1M)", settings_remember,
     SETTING(SETTING_SIZE, "SANDBOX_OUTPUT", "output", AT(limits.output_kept),
             .low = RUN_OUTPUT_KEPT_MIN, .high = RUN_OUTPUT_KEPT_MAX)},
    {"--pass-through-env", "NAMES",
     "variables of this environment to pass to\nsnippets, separated by commas", settings_remember,
     SETTING(SETTING_NAMES, "PASSTHROUGH_ENV", "pass_through_env", .is_shared_variable = true,
             .meaning = "variables of the program's own environment to pass to snippets")},
    {"--env-file", "FILE",
     "file with a variable on each line, NAME=VALUE;\nits mode must be 600; repeatable",
     settings_remember,
     SETTING(SETTING_ENVIRONMENT_FILE, "SANDBOX_ENV_FILE", "env_file",
             .meaning = "files with a variable on each line, NAME=VALUE; their mode must be 600")},
    {"--env", "NAME=VALUE",
     "one variable; python:NAME=VALUE sets it for one\nlanguage; visible in `ps`; repeatable",
     settings_remember,
     SETTING(SETTING_ENVIRONMENT, NULL, "env",
             .meaning = "variables of snippets; python:NAME is one for one language")},
    {"--compile-cache", "SIZE", "compiled programs that are kept, together; 0 keeps\nnone (256M)",
     settings_remember,
     SETTING(SETTING_SIZE, "SANDBOX_COMPILE_CACHE", "compile_cache", AT(compile_cache), .low = 0,
             .high = RUN_DISK_MAX)},
    {"--require-cgroup", NULL, "run nothing unless cgroups enforce the limits", settings_remember,
     SETTING(SETTING_FLAG, "SANDBOX_REQUIRE_CGROUP", "require_cgroup", AT(require_cgroup))},
    {"--no-cgroup", NULL, "poll the limits even where cgroups are\navailable", settings_remember,
     SETTING(SETTING_FLAG, "SANDBOX_NO_CGROUP", "no_cgroup", AT(no_cgroup))},
    {"--weaker", "TIER",
     "weakest tier allowed where the host refuses a full\nsandbox: P (a few files as /proc), C (root in a\ncontainer, "
     "no namespaces), L (other users, none\neither), none (the default: run nothing)",
     settings_remember,
     SETTING(SETTING_CHOICE, "SANDBOX_WEAKER", "weaker", AT(weakest), .choices = tiers)},
    {"--files-dir", "DIR",
     "copy files left by snippets to DIR/CALL; `run`\ncopies to DIR and replaces nothing",
     settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_FILES_DIR", "files_dir", AT(files_dir), .is_written = true,
             .meaning = "copy files left by snippets to directories in this one, with the number "
                        "of the call as name; `run` copies to it directly, and replaces nothing")},
    {"--mount", "FOLDER[:MODE]",
     "show a folder of this computer to snippets, at\nthe same path or at @/PATH; MODE: ro "
     "(default),\noverlay (writes stay in the sandbox), rw (writes\nchange it); project: the client's; repeatable",
     settings_remember,
     SETTING(SETTING_MOUNT, "SANDBOX_MOUNT", "mounts",
             .meaning = "folders of this computer that snippets see, at the same path or at "
                        "another one; mode: ro (default), overlay (writes stay in the sandbox), rw "
                        "(writes change it); the path project: the client's")},
    {"--mount-under", "DIR", "where a project outside of your home may be", settings_remember,
     SETTING(SETTING_PLACE, "SANDBOX_MOUNT_UNDER", "mount_under", AT(mount_under))},
    {"--network", "MODE",
     "off: none (the default); allow: hosts that\n--allow-host lists; on: all public hosts",
     settings_remember,
     SETTING(SETTING_CHOICE, "SANDBOX_NETWORK", "network", AT(network_said),
             .choices = network_modes,
             .meaning = "off: none (the default); allow: hosts that allow_host lists; on: all "
                        "public hosts")},
    {"--allow-host", "HOST[:PORT]",
     "a host that snippets may reach, at 80 and 443 or\nthat port; *.example.org: all below; :* any port;\n"
     "10.0.0.0/8: addresses; @python, @npm, @debian,\n@github, @models: groups; with commas or repeated",
     settings_remember,
     SETTING(SETTING_HOSTS, "SANDBOX_ALLOW_HOST", "allow_host", .low = RULES_ALLOW,
             .meaning = "hosts that snippets may reach, at 80 and 443 or the port that is named; "
                        "*.example.org: all below; :* any port; 10.0.0.0/8: addresses; @python, "
                        "@npm, @debian, @github, @models: groups")},
    {"--deny-host", "HOST[:PORT]", "one that they may not, whatever else is said",
     settings_remember,
     SETTING(SETTING_HOSTS, "SANDBOX_DENY_HOST", "deny_host", .low = RULES_DENY,
             .meaning = "hosts that they may not, whatever else is said")},
    {"--map-host", "NAME:PORT=ADDRESS:PORT",
     "a name that leads there, to services of this\ncomputer, too; repeatable", settings_remember,
     SETTING(SETTING_HOSTS, "SANDBOX_MAP_HOST", "map_host", .low = RULES_MAP,
             .form = "an array of names and where they lead: [\"db.internal:5432=127.0.0.1:5432\"]",
             .meaning = "names that lead to addresses, of services of this computer, too")},
    {"--network-proxy", "URL",
     "the proxy to the internet, http://HOST:PORT, or\nnone (HTTPS_PROXY)", settings_remember,
     SETTING(SETTING_TEXT, "SANDBOX_NETWORK_PROXY", "network_proxy", AT(network_proxy))},
    {"--ca-file", "FILE",
     "certificates of your network's authority, which\nsnippets trust besides those of the image, or\nnone (SSL_CERT_FILE)",
     settings_remember, SETTING(SETTING_PATH, "SANDBOX_CA_FILE", "ca_file", AT(ca_file))},
    {"--network-limit", "SIZE", "bytes sent and received by a run (1G)", settings_remember,
     SETTING(SETTING_SIZE, "SANDBOX_NETWORK_LIMIT", "network_limit", AT(network.byte_limit),
             .low = 1, .high = NETWORK_LIMIT_MAX)},
    {"--seccomp-profile", "FILE",
     "allowed system calls, in the format of Docker\nand runc (built in)", settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_SECCOMP_PROFILE", "seccomp_profile", AT(profile_path))},
    {"--policy", "FILE",
     "rules that programs are checked by before they\nrun, or a preset: off (the default), hints, strict",
     settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_POLICY", "policy", AT(policy),
             .form = "a path, or \"off\", \"hints\" or \"strict\"")},
#define LANGUAGE(name, place)                                                                      \
    {"--" #name "-image",                                                                          \
     "NAME",                                                                                       \
     NULL,                                                                                         \
     settings_remember,                                                                            \
     SETTING(SETTING_IMAGE, "SANDBOX_" #place "_IMAGE", #name "_image",                            \
             AT(images[LANGUAGE_##place])),                                                        \
     .write_help = write_image_help},
    LANGUAGES
#undef LANGUAGE
    {"--config", "FILE", "configuration file\n(~/.config/code-sandbox-mcp/config.json)",
     settings_name_configuration, NULL},
    {0},
};

const struct option settings_of_many[] = {
    {"--timeout-max", "SECONDS", "longest time a call may ask for\n(the value of --timeout)",
     settings_remember,
     SETTING(SETTING_SECONDS, "SANDBOX_TIMEOUT_MAX", "timeout_max", AT(wall_max_ms), .low = 1,
             .high = RUN_WALL_MAX_MS,
             .meaning = "longest time a call may ask for (the value of timeout)")},
    {"--parallel", "N", "snippets running at once; others wait\n(one per processor)",
     settings_remember,
     SETTING(SETTING_COUNT, "SANDBOX_PARALLEL", "parallel", AT(engine.parallel), .low = 1,
             .high = PARALLEL_MAX)},
    {"--preload", "MODULES",
     "modules that forked and prewarmed Python\nsandboxes import in advance: numpy,pandas (none)",
     settings_remember, SETTING(SETTING_MODULES, "SANDBOX_PRELOAD", "preload", AT(preload))},
    {"--template", "MODE",
     "auto: make Python sandboxes by forks of one\ninterpreter (the default); off: start each",
     settings_remember,
     SETTING(SETTING_CHOICE, "SANDBOX_TEMPLATE", "template", AT(template), .choices = switches)},
    {"--metrics-file", "FILE",
     "keep counts of runs in FILE, in the OpenMetrics\nformat, for a node_exporter",
     settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_METRICS_FILE", "metrics_file", AT(metrics_file),
             .is_written = true,
             .meaning = "keep counts of runs in this file, in the OpenMetrics format, for a "
                        "node_exporter")},
    {0},
};

const struct option settings_of_callers[] = {
    {"--workers", "URL",
     "have workers on other machines run snippets, by\nway of the NATS broker at nats://HOST or tls://HOST",
     settings_remember, SETTING(SETTING_TEXT, "SANDBOX_WORKERS", "workers", AT(fleet.url))},
    {0},
};

const struct option settings_of_broker[] = {
    {"--pool", "NAME", "workers that serve the same calls (default)", settings_remember,
     SETTING(SETTING_TEXT, "SANDBOX_POOL", "pool", AT(fleet.pool))},
    {"--nats-creds", "FILE", "credentials for the broker; mode 600", settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_NATS_CREDS", "nats_creds", AT(fleet.credentials))},
    {"--nats-ca", "FILE", "certificates of the broker's authority", settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_NATS_CA", "nats_ca", AT(fleet.authority))},
    {"--insecure", NULL, "speak to a broker on another machine without\nTLS", settings_remember,
     SETTING(SETTING_FLAG, "SANDBOX_INSECURE", "insecure", AT(fleet.may_be_insecure))},
    {0},
};

const struct option settings_of_server[] = {
    {"--warm", "N", "prewarmed sandboxes for each language in use;\n0 turns them off (2)",
     settings_remember,
     SETTING(SETTING_COUNT, "SANDBOX_WARM", "warm", AT(engine.warm), .low = 0,
             .high = WARM_SANDBOXES_MAX)},
    {"--sessions", "N", "sessions alive at once, which keep variables;\n0 turns them off (4)",
     settings_remember,
     SETTING(SETTING_COUNT, "SANDBOX_SESSIONS", "sessions", AT(sessions), .low = 0,
             .high = SESSIONS_MAX)},
    {"--session-idle", "SECONDS", "time without a call after which a session ends\n(1200)",
     settings_remember,
     SETTING(SETTING_SECONDS, "SANDBOX_SESSION_IDLE", "session_idle", AT(session_idle_ms),
             .low = 1000, .high = SESSION_LIFE_MAX_MS)},
    {"--session-checkpoints", "N",
     "copies of a session's Python that are kept, one after each\ncall; 0 turns them off (8)",
     settings_remember,
     SETTING(SETTING_COUNT, "SANDBOX_SESSION_CHECKPOINTS", "session_checkpoints",
             AT(session_checkpoints), .low = 0, .high = SESSION_CHECKPOINTS_MAX)},
    {"--function-calls", "N", "calls of a client's functions that one snippet may\nmake (256)",
     settings_remember,
     SETTING(SETTING_COUNT, "SANDBOX_FUNCTION_CALLS", "function_calls", AT(function_calls),
             .low = 1, .high = CALLS_MAX)},
    {"--function-time", "SECONDS", "longest time until a function has answered\n(60)",
     settings_remember,
     SETTING(SETTING_SECONDS, "SANDBOX_FUNCTION_TIME", "function_time", AT(function_ms),
             .low = 1000, .high = CALL_MAX_MS)},
    {"--result-format", "FORMAT",
     "text: plain lines (the default);\n"
     "json: failures as a JSON object in the text;\n"
     "structured: with structuredContent",
     settings_remember,
     SETTING(SETTING_CHOICE, "SANDBOX_RESULT_FORMAT", "result_format", AT(result_format),
             .choices = result_formats)},
    {"--no-images", NULL, "put no images into results, for models that\ncannot see",
     settings_remember, SETTING(SETTING_FLAG, "SANDBOX_NO_IMAGES", "no_images", AT(no_images))},
    {"--http", "ADDRESS",
     "serve over HTTP instead of stdin and stdout:\nPORT of this computer, ADDRESS:PORT or\n[ADDRESS]:PORT; port 0: any",
     settings_remember, SETTING(SETTING_TEXT, "SANDBOX_HTTP", "http", AT(http))},
    {"--http-token-file", "FILE",
     "file with the token that HTTP clients need, or a\nline NAME TOKEN for each of them; its mode must\nbe 600; for other machines required",
     settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_HTTP_TOKEN_FILE", "http_token_file", AT(http_token_file))},
    {"--http-host", "NAMES",
     "further host names of the HTTP server, separated\nby commas: that of a proxy in front",
     settings_remember, SETTING(SETTING_TEXT, "SANDBOX_HTTP_HOST", "http_host", AT(http_hosts))},
    {"--log-level", "LEVEL",
     "warning: problems (the default);\ninfo: also each call, with its times", settings_remember,
     SETTING(SETTING_CHOICE, "SANDBOX_LOG_LEVEL", "log_level", AT(log.level),
             .choices = log_levels)},
    {"--log-format", "FORMAT", "text: plain lines (the default);\njson: one object per line",
     settings_remember,
     SETTING(SETTING_CHOICE, "SANDBOX_LOG_FORMAT", "log_format", AT(log.format),
             .choices = log_formats)},
    {"--log-file", "FILE", "append the log to FILE instead of stderr", settings_remember,
     SETTING(SETTING_PATH, "SANDBOX_LOG_FILE", "log_file", AT(log.path), .is_written = true,
             .meaning = "append the log to this file instead of stderr")},
    {0},
};

const struct option *const setting_tables[] = {SETTINGS_OF_ALL, NULL};

static int read_choice(const struct setting *setting, const char *what, const char *value,
                       unsigned *ret_choice, struct fault *fault)
{
    OWNED(buffer_release) struct buffer names = BUFFER(256);
    for (unsigned i = 0; setting->choices[i] != NULL; i++) {
        if (strcmp(setting->choices[i], value) == 0) {
            *ret_choice = i;
            return 0;
        }
        buffer_format(&names, "%s%s",
                      i == 0 ? "" : (setting->choices[i + 1] != NULL ? ", " : " or "),
                      setting->choices[i]);
    }
    const char *known = buffer_string(&names);
    return fault_set(fault, EINVAL, "%s must be %s, not \"%.40s\"", what,
                     known != NULL ? known : "something else", value);
}

static int read_flag(const char *what, const char *value, bool *ret_flag, struct fault *fault)
{
    static const char *const yes[] = {"1", "true", "yes"};
    static const char *const no[] = {"0", "false", "no"};
    for (size_t i = 0; i < ARRAY_LENGTH(yes); i++) {
        if (strcasecmp(value, yes[i]) == 0 || strcasecmp(value, no[i]) == 0) {
            *ret_flag = strcasecmp(value, yes[i]) == 0;
            return 0;
        }
    }
    return fault_set(fault, EINVAL, "%s must be 1 or 0 (or true, false, yes, no), not \"%.40s\"",
                     what, value);
}

static int set_text(const char *what, const char *value, char **path, struct fault *fault)
{
    char *copy = strdup(value);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "reading %s: %m", what);
    free(*path);
    *path = copy;
    return 0;
}

static int set_image(const char *what, const char *value, char **image, struct fault *fault)
{
    int r = image_name_check(value, fault);
    if (r < 0) {
        fault_prefix(fault, "%s", what);
        return r;
    }
    return set_text(what, value, image, fault);
}

static int set_names(struct settings *settings, const char *what, const char *value,
                     struct fault *fault)
{
    for (const char *name = value + strspn(value, ", \t"); *name != '\0';) {
        size_t length = strcspn(name, ", \t");
        int r = environment_pass(&settings->environment, name, length, fault);
        if (r < 0) {
            fault_prefix(fault, "%s", what);
            return r;
        }
        name += length;
        name += strspn(name, ", \t");
    }
    return 0;
}

/* Its path is kept, for own_paths_check(). */
static int read_environment_file(struct settings *settings, const char *what, const char *value,
                                 struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (settings->environment_file_count == ENVIRONMENT_FILES_MAX)
        return fault_set(fault, EINVAL, "%s: at most %d environment files", what,
                         ENVIRONMENT_FILES_MAX);
    int r = home_path_expand(what, value, &path, fault);
    if (r == 0)
        r = environment_read_file(&settings->environment, what, path, fault);
    if (r == 0)
        settings->environment_files[settings->environment_file_count++] = pointer_take(&path);
    return r;
}

bool setting_adds_up(const struct setting *setting)
{
    return setting->kind >= SETTING_NAMES;
}

int setting_set(struct settings *settings, const struct setting *setting, const char *what,
                const char *value, struct fault *fault)
{
    const struct quantity quantity = {
        .what = what,
        .unit = "processors",
        .low = setting->low,
        .high = setting->high,
    };
    void *member = (char *)settings + setting->offset;
    uint64_t number = 0;
    int r = 0;
    switch (setting->kind) {
    case SETTING_SIZE:
        return quantity_read_size(&quantity, value, member, fault);
    case SETTING_COUNT:
        return quantity_read_integer(&quantity, value, member, fault);
    case SETTING_SECONDS:
        r = quantity_read_duration(&quantity, value, &number, fault);
        if (r == 0)
            *(int64_t *)member = (int64_t)number;
        return r;
    case SETTING_PROCESSORS:
        r = quantity_read_thousandths(&quantity, value, &number, fault);
        if (r == 0)
            *(uint32_t *)member = (uint32_t)number;
        return r;
    case SETTING_CHOICE:
        return read_choice(setting, what, value, member, fault);
    case SETTING_FLAG:
        return read_flag(what, value, member, fault);
    case SETTING_PATH:
    case SETTING_PLACE:
        return home_path_expand(what, value, member, fault);
    case SETTING_TEXT:
        return set_text(what, value, member, fault);
    case SETTING_MODULES:
        r = preload_check(what, value, fault);
        return r < 0 ? r : set_text(what, value, member, fault);
    case SETTING_IMAGE:
        return set_image(what, value, member, fault);
    case SETTING_ENVIRONMENT:
        return environment_set(&settings->environment, ENVIRONMENT_SET, what, value, strlen(value),
                               fault);
    case SETTING_ENVIRONMENT_FILE:
        return read_environment_file(settings, what, value, fault);
    case SETTING_HOSTS:
        settings->network_presets |= network_presets_in(value);
        return network_settings_add(&settings->network, (enum rule_list)setting->low, what, value,
                                    fault);
    case SETTING_MOUNT:
        return mounts_add_text(&settings->mounts, what, value, fault);
    case SETTING_NAMES:
        break;
    }
    return set_names(settings, what, value, fault);
}
