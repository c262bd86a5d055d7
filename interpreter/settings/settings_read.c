#include "interpreter/settings/settings_read.h"
#include "images/store/store.h"
#include "images/store/xdg.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/configuration.h"
#include "interpreter/settings/network_settings.h"
#include "interpreter/settings/own_paths.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/setting_text.h"
#include "interpreter/settings/small_file.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"
#include "sandbox/jail/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE_PREFIX "SANDBOX_"

static void note_unknown_language(const char *name, const char *image)
{
    const char *nearest = language_guess(name);
    log_note("CONTAINER_LANGUAGE=%.40s is not a known language%s%s%s: "
             "CONTAINER_IMAGE=%.80s is ignored",
             name, nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
             nearest != NULL ? "?)" : "", image);
}

/* CONTAINER_IMAGE replaces the image of one language: CONTAINER_LANGUAGE, else the first. */
static int bind_image(struct settings *settings, struct fault *fault)
{
    const char *image = getenv("CONTAINER_IMAGE");
    const char *name = getenv("CONTAINER_LANGUAGE");
    bool named = name != NULL && name[0] != '\0';
    if (image == NULL || image[0] == '\0') {
        if (named)
            log_note("CONTAINER_LANGUAGE=%.40s has no effect without CONTAINER_IMAGE", name);
        return 0;
    }
    if (!named)
        log_note("CONTAINER_IMAGE is set without CONTAINER_LANGUAGE: %s snippets will run on %.80s",
                 languages[0]->name, image);
    const struct language *language = named ? language_find(name) : languages[0];
    if (language == NULL) {
        note_unknown_language(name, image);
        return 0;
    }
    char **bound = &settings->images[language_place(language)];
    free(*bound);
    *bound = strdup(image);
    if (*bound == NULL)
        return fault_set(fault, ENOMEM, "reading CONTAINER_IMAGE: %m");
    if (image_name_check(image, NULL) < 0)
        log_note(
            "CONTAINER_IMAGE=%.80s is not the name of a fetched image, so %s snippets cannot run: "
            "export the container's file system as a tar archive, run `code-sandbox-mcp fetch "
            "--from FILE --name NAME`, and set CONTAINER_IMAGE=NAME",
            image, language->name);
    return 0;
}

/* An empty variable counts as none: that is how many a launcher unsets one. */
static int read_variable(struct settings *settings, const struct option *option,
                         struct fault *fault)
{
    const struct setting *setting = option->setting;
    const char *value = setting->variable != NULL ? getenv(setting->variable) : NULL;
    if (value == NULL || value[0] == '\0')
        return 0;
    struct fault own = {0};
    int r = setting->kind == SETTING_MOUNT
                ? mounts_add_list(&settings->mounts, setting->variable, value, &own)
                : setting_set(settings, setting, setting->variable, value, &own);
    if (r == -EINVAL && setting->is_shared_variable) {
        log_note("%s; this and the rest of the variable are ignored", own.text);
        return 0;
    }
    return r < 0 ? fault_set(fault, -r, "%s", own.text)
                 : origins_note(&settings->origins, option, ORIGIN_VARIABLE,
                                setting_adds_up(option->setting), fault);
}

/* Whether a setting has that variable; else offers all of them. */
static bool knows_variable(struct spelling *spelling, const char *name)
{
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; option->name != NULL; option++) {
            const char *known = option->setting != NULL ? option->setting->variable : NULL;
            if (known != NULL && strcmp(known, name) == 0)
                return true;
            if (known != NULL)
                spelling_offer(spelling, known);
        }
    }
    return false;
}

/* A mistyped name would go unheeded. Other programs have variables of this prefix, too: it is no error. */
static void note_unknown_variables(void)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) != 0)
            continue;
        OWNED_MEMORY char *name = strndup(*variable, length);
        if (name == NULL)
            return;
        struct spelling spelling = spelling_of(name);
        if (!knows_variable(&spelling, name))
            log_note("%.60s is ignored: no setting of this program has that variable%s%s%s", name,
                     spelling.nearest != NULL ? " (did you mean " : "",
                     spelling.nearest != NULL ? spelling.nearest : "",
                     spelling.nearest != NULL ? "?)" : "");
    }
}

static int read_variables(struct settings *settings, struct fault *fault)
{
    int r = bind_image(settings, fault); /* the variable of one language counts more */
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; r == 0 && option->name != NULL; option++) {
            if (option->setting != NULL)
                r = read_variable(settings, option, fault);
        }
    }
    note_unknown_variables();
    if (getenv("BACKEND") != NULL)
        log_note("BACKEND is ignored: snippets run in namespaces, without a container engine");
    return r;
}

static int read_said(struct settings *settings, struct fault *fault)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < settings->said_count; i++) {
        const struct option *option = settings->said[i].option;
        const char *value = settings->said[i].value;
        /* A flag has no value there: to say it is to set it. */
        r = setting_set(settings, option->setting, option->name, value != NULL ? value : "1",
                        fault);
        if (r == 0)
            r = origins_note(&settings->origins, option, ORIGIN_OPTION,
                             setting_adds_up(option->setting), fault);
        if (option->setting->kind == SETTING_ENVIRONMENT)
            settings->environment.is_on_command_line = true;
    }
    return r;
}

/* Read and compiled at once: a mistake in it is not to wait for the first snippet. */
static int read_profile(struct settings *settings, struct fault *fault)
{
    if (settings->profile_path == NULL)
        return 0;
    OWNED(buffer_release) struct buffer text = BUFFER(PROFILE_MAX * 2);
    int r =
        small_file_read(settings->profile_path, "the seccomp profile", PROFILE_MAX, &text, fault);
    if (r < 0)
        return fault_set(fault, -r, "the seccomp profile %s: %m", settings->profile_path);
    const char *json = buffer_string(&text);
    OWNED(filter_release) struct filter filter = {0};
    r = json == NULL ? fault_set(fault, ENOMEM, "no memory for it")
                     : filter_try(json, text.length, fault);
    if (r == 0)
        r = filter_compile(json, text.length, NULL, &filter, fault);
    if (r < 0) {
        fault_prefix(fault, "%s", settings->profile_path);
        return r;
    }
    settings->profile = pointer_take(&text.data);
    settings->engine.profile = settings->profile;
    return 0;
}

/* A missing directory is not made: the name may be mistyped. */
static int read_files_dir(struct settings *settings, struct fault *fault)
{
    const char *given = settings->files_dir;
    if (given == NULL)
        return 0;
    OWNED_MEMORY char *path = realpath(given, NULL);
    struct stat about;
    if (path == NULL && errno == ENOENT)
        return fault_set(
            fault, ENOENT,
            "the directory %s of --files-dir does not exist: create it, or name another "
            "one",
            given);
    if (path == NULL || stat(path, &about) < 0)
        return fault_set(fault, errno, "the directory %s of --files-dir: %m", given);
    if (!S_ISDIR(about.st_mode))
        return fault_set(fault, ENOTDIR, "%s, given as --files-dir, is not a directory", given);
    if (access(path, W_OK | X_OK) < 0)
        return fault_set(fault, errno, "cannot write to the directory %s of --files-dir: %m",
                         given);
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "the directory %s of --files-dir: %m", given);
    settings->files_dir_fd = fd;
    settings->holds_files_dir = true;
    settings->files_dir_said = settings->files_dir;
    settings->files_dir = pointer_take(&path);
    return 0;
}

/* Opened at once: a mistake is not to wait for the first snippet. */
static int open_folders(struct settings *settings, struct fault *fault)
{
    OWNED_MEMORY char *store = NULL;
    OWNED_MEMORY char *configuration = NULL;
    OWNED_MEMORY char *copies = NULL;
    int r = store_path(&store, fault);
    if (r == 0 && (r = configuration_directory(&configuration)) == -ENOMEM)
        return fault_set(fault, ENOMEM, "out of memory for folders");
    if ((r == 0 || r == -ENOENT) && (r = overlay_place_directory(&copies)) == -ENOMEM)
        return fault_set(fault, ENOMEM, "out of memory for folders");
    if (r < 0 && r != -ENOENT)
        return r;
    const struct mount_fence fence = {
        .home = xdg_home(),
        .store = store,
        .copies = copies,
        .configuration = configuration,
        .configuration_read = settings->configuration_read,
        .under = settings->mount_under,
    };
    r = mounts_open(&settings->mounts, &fence, &settings->folders, fault);
    if (r == 0 && folders_have(&settings->folders, FOLDER_OVERLAY))
        r = overlay_place_find(&settings->copies, fault);
    if (r == 0)
        r = own_paths_check(settings, fault);
    settings->engine.uppers = settings->copies.path;
    return r;
}

static int read_all(struct settings *settings, struct fault *fault)
{
    int r = configuration_read(settings, fault);
    if (r == 0)
        r = read_variables(settings, fault);
    if (r == 0)
        r = read_said(settings, fault);
    if (r == 0)
        r = read_profile(settings, fault);
    if (r == 0)
        r = read_files_dir(settings, fault);
    if (r == 0)
        r = network_settings_complete(&settings->network, settings->network_said,
                                      settings->network_proxy, fault);
    if (r == 0 && settings->network.mode != NETWORK_OFF)
        r = network_settings_read_certificates(settings->ca_file, &settings->certificates, fault);
    if (r == 0 && settings->mounts.count > 0)
        r = open_folders(settings, fault);
    if (r < 0)
        return r;
    settings->network_said = settings->network.mode;
    environment_note_missing(&settings->environment);
    if (settings->wall_max_ms == 0)
        settings->wall_max_ms = settings->limits.wall_ms;
    if (settings->require_cgroup)
        settings->engine.cgroup = CGROUP_REQUIRED;
    else if (settings->no_cgroup)
        settings->engine.cgroup = CGROUP_NEVER;
    if (settings->require_cgroup && settings->no_cgroup)
        return fault_set(fault, EINVAL,
                         "--require-cgroup and --no-cgroup cannot be combined: remove one of them");
    return 0;
}

/* Returns r. */
static int blame(const struct settings *settings, int r, struct fault *fault)
{
    if (r < 0 && fault != NULL)
        setting_blame(settings, fault);
    return r;
}

/*
 * Notes the options of that command line that do nothing without or with another one. Variables and keys may be there for
 * other commands.
 */
static void note_idle(const struct settings *settings, const char *const *names, const char *where)
{
    for (size_t i = 0; i < settings->origins.count; i++) {
        const struct setting_origin *given = &settings->origins.list[i];
        for (const char *const *name = names; *name != NULL; name++)
            if ((given->origins & ORIGIN_OPTION) != 0 && strcmp(given->option->name, *name) == 0)
                log_note("%s has no effect %s", *name, where);
    }
}

int settings_read(struct settings *settings, struct fault *fault)
{
    static const char *const of_http[] = {"--http-host", "--http-token-file", NULL};
    static const char *const of_network[] = {"--ca-file", "--network-proxy", "--network-limit",
                                             NULL};
    int r = blame(settings, read_all(settings, fault), fault);
    if (r == 0 && settings->http == NULL)
        note_idle(settings, of_http, "without --http");
    if (r == 0 && settings->network.mode == NETWORK_OFF)
        note_idle(settings, of_network, "without --network or --allow-host");
    return r;
}

int settings_read_check_server(const struct settings *settings, struct fault *fault)
{
    if (settings->wall_max_ms >= settings->limits.wall_ms)
        return 0;
    int r =
        fault_set(fault, EINVAL,
                  "--timeout-max is %g s, less than --timeout (%g s): raise --timeout-max or "
                  "lower --timeout",
                  (double)settings->wall_max_ms / 1000, (double)settings->limits.wall_ms / 1000);
    return blame(settings, r, fault);
}

static int check_workers(const struct settings *settings, struct fault *fault)
{
    int r = fleet_settings_check(&settings->fleet, fault);
    if (r < 0)
        return r;
    if (settings->policy != NULL)
        return fault_set(fault, EINVAL,
                         "with --workers, each worker has a --policy of its own: remove --policy");
    if (settings->folders.count > 0)
        return fault_set(fault, EINVAL,
                         "with --workers, snippets see no folder of this computer: give --mount to "
                         "the workers");
    return 0;
}

int settings_read_workers(struct settings *settings, struct fault *fault)
{
    static const char *const of_workers[] = {"--pool", "--nats-creds", "--nats-ca", "--insecure",
                                             NULL};
    static const char *const of_sessions[] = {"--sessions", "--session-idle",
                                              "--session-checkpoints", NULL};
    if (settings->fleet.url == NULL) {
        note_idle(settings, of_workers, "without --workers");
        return 0;
    }
    int r = check_workers(settings, fault);
    if (r < 0)
        return blame(settings, r, fault);
    note_idle(settings, of_sessions, "with --workers, which have no sessions");
    settings->sessions = 0;
    return 0;
}
