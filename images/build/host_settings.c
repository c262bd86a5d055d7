#include "images/build/host_settings.h"

#include "images/base/file.h"
#include "images/build/passed_settings.h"
#include "images/store/xdg.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_MEMORY "no memory for the settings of this host"
#define BLANKS " \t\"'\r\n"

#define CA_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
/* On disk, since a tmpfs is too small for builds; removed from the layer afterwards. */
#define WORK "/var/tmp"

static const char *const own_variables[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=" WORK,
    "TMPDIR=" WORK,
    "LC_ALL=C.UTF-8",
    "DEBIAN_FRONTEND=noninteractive",
    "PYTHONDONTWRITEBYTECODE=1",
    "PIP_CACHE_DIR=" WORK "/pip",
    "PIP_NO_INPUT=1",
    "PIP_DISABLE_PIP_VERSION_CHECK=1",
    "PIP_BREAK_SYSTEM_PACKAGES=1",
    "PIP_ROOT_USER_ACTION=ignore",
    "npm_config_cache=" WORK "/npm",
    "npm_config_update_notifier=false",
};

/* Certificate bundles of distributions. Programs of an image look in Debian's place. */
static const char *const bundles[] = {
    CA_BUNDLE,
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

/* The place of NAME=VALUE with the same name, or the end. */
static size_t variable_find(const struct host_settings *settings, const char *pair)
{
    size_t length = strcspn(pair, "=") + 1;
    size_t at = 0;
    while (at < settings->variable_count && strncmp(settings->variables[at], pair, length) != 0)
        at++;
    return at;
}

static int variable_set(struct host_settings *settings, const char *pair)
{
    size_t at = variable_find(settings, pair);
    if (at == HOST_VARIABLES_MAX)
        return -E2BIG;
    char *copy = strdup(pair);
    if (copy == NULL)
        return -ENOMEM;
    if (at == settings->variable_count)
        settings->variable_count++;
    free(settings->variables[at]);
    settings->variables[at] = copy;
    return 0;
}

int host_settings_show(struct host_settings *settings, const char *host_path,
                       const char *image_path)
{
    if (host_path[0] != '/' || !file_exists(host_path))
        return 0;
    for (size_t i = 0; i < settings->file_count; i++)
        if (strcmp(settings->files[i].image_path, image_path) == 0)
            return 0;
    if (settings->file_count == HOST_FILES_MAX)
        return -E2BIG;
    OWNED_MEMORY char *host = strdup(host_path);
    OWNED_MEMORY char *image = strdup(image_path);
    if (host == NULL || image == NULL)
        return -ENOMEM;
    settings->files[settings->file_count++] =
        (struct plan_shown){pointer_take(&host), pointer_take(&image)};
    return 0;
}

/* Never shown over system directories: the image must keep its own programs. */
static bool may_cover(const char *path)
{
    static const char *const below[] = {"/usr/lib", "/usr/bin", "/usr/sbin", "/usr/share",
                                        "/bin",     "/sbin",    "/lib",      "/proc",
                                        "/dev",     "/sys",     "/var/lib",  WORK};
    for (size_t i = 0; i < ARRAY_LENGTH(below); i++) {
        size_t length = strlen(below[i]);
        if (strncmp(path, below[i], length) == 0 && (path[length] == '/' || path[length] == '\0'))
            return false;
    }
    size_t length = strlen(path);
    bool leads_up =
        strstr(path, "/../") != NULL || (length >= 3 && strcmp(path + length - 3, "/..") == 0);
    return path[0] == '/' && strcmp(path, "/") != 0 && strcmp(path, "/etc") != 0 &&
           strcmp(path, "/usr") != 0 && strcmp(path, "/var") != 0 && !leads_up;
}

static int told(int status, struct fault *fault)
{
    if (status == -E2BIG)
        return fault_set(fault, E2BIG,
                         "the settings of this host for pip and npm have too many "
                         "variables or files; remove some");
    return status < 0 ? fault_set(fault, -status, NO_MEMORY) : 0;
}

static int set_or_tell(struct host_settings *settings, const char *pair, struct fault *fault)
{
    return told(variable_set(settings, pair), fault);
}

static int show_or_tell(struct host_settings *settings, const char *host_path,
                        const char *image_path, struct fault *fault)
{
    return told(host_settings_show(settings, host_path, image_path), fault);
}

static int show_configuration(struct host_settings *settings, const struct host_path *host,
                              struct fault *fault);

/* The image has its own files there. */
static int leave_out(struct host_settings *settings, const char *name, const char *path,
                     struct fault *fault)
{
    char *line = NULL;
    if (path[0] != '/' || settings->left_out_count == ARRAY_LENGTH(settings->left_out))
        return 0;
    if (asprintf(&line, "%s names %s", name, path) < 0)
        return fault_set(fault, ENOMEM, NO_MEMORY);
    utf8_make_plain(line, false);
    settings->left_out[settings->left_out_count++] = line;
    return 0;
}

/* Removes "//", "/./" and slashes at the end: they name the same place, and would hide it from may_cover(). */
static void path_straighten(char *path)
{
    char *end = path;
    for (const char *at = path; *at != '\0';) {
        size_t length = strcspn(at, "/");
        bool is_here = end > path && length == 1 && *at == '.';
        if (!is_here && length > 0) {
            memmove(end, at, length);
            end += length;
        }
        at += length;
        if (*at == '/' && (end == path || end[-1] != '/'))
            *end++ = '/';
        at += *at == '/';
    }
    if (end > path + 1 && end[-1] == '/')
        end--;
    *end = '\0';
}

static int show_path(struct host_settings *settings, const struct host_path *host,
                     struct fault *fault)
{
    OWNED_MEMORY char *copy = NULL;
    if (!file_exists(host->path))
        return 0;
    if (!may_cover(host->path))
        return leave_out(settings, host->name, host->path, fault);
    int r = host_settings_copy(settings, host, &copy, fault);
    return r == 0 ? show_or_tell(settings, copy, host->path, fault) : r;
}

/* Each path among "/opt/wheels https://host/simple file:///opt/more". */
static int show_places(struct host_settings *settings, const struct passed_setting *setting,
                       const char *value, struct fault *fault)
{
    static const char scheme[] = "file://";
    int r = 0;
    while (r == 0 && *value != '\0') {
        value += strspn(value, BLANKS);
        size_t length = strcspn(value, BLANKS);
        OWNED_MEMORY char *word = strndup(value, length);
        if (word == NULL)
            return fault_set(fault, ENOMEM, NO_MEMORY);
        bool is_url = strncmp(word, scheme, strlen(scheme)) == 0;
        char *path = word + (is_url ? strlen(scheme) : 0);
        path_straighten(path);
        const struct host_path host = {setting->variable, path, setting->kind};
        r = show_path(settings, &host, fault);
        value += length;
    }
    return r;
}

static int show_value(struct host_settings *settings, const struct passed_setting *setting,
                      const char *value, struct fault *fault)
{
    size_t blanks = strspn(value, BLANKS);
    OWNED_MEMORY char *path = NULL;
    if (setting->kind == VALUE_PLAIN)
        return 0;
    if (setting->kind == VALUE_PACKAGES || setting->kind == VALUE_CONSTRAINTS)
        return show_places(settings, setting, value, fault);
    path = strdup(value + blanks);
    if (path == NULL)
        return fault_set(fault, ENOMEM, NO_MEMORY);
    for (size_t length = strlen(path); length > 0 && strchr(BLANKS, path[length - 1]) != NULL;)
        path[--length] = '\0';
    path_straighten(path);
    const struct host_path host = {setting->variable, path, setting->kind};
    return setting->kind == VALUE_CONFIGURATION ? show_configuration(settings, &host, fault)
                                                : show_path(settings, &host, fault);
}

static int variables_read(struct host_settings *settings, struct fault *fault)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(own_variables); i++)
        r = set_or_tell(settings, own_variables[i], fault);
    for (char **pair = environ; r == 0 && *pair != NULL; pair++) {
        const struct passed_setting *setting = passed_setting_of(*pair);
        if (setting == NULL)
            continue;
        r = set_or_tell(settings, *pair, fault);
        if (r == 0)
            r = show_value(settings, setting, strchr(*pair, '=') + 1, fault);
    }
    return r;
}

/* The file that installers see at a path; NULL: none. */
static const char *shown_at(const struct host_settings *settings, const char *path)
{
    for (size_t i = 0; i < settings->file_count; i++)
        if (strcmp(settings->files[i].image_path, path) == 0)
            return settings->files[i].host_path;
    return NULL;
}

/* Shows a configuration file, and the files that its lines name: those of the copy, which is what installers read. */
static int show_configuration(struct host_settings *settings, const struct host_path *host,
                              struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    int r = show_path(settings, host, fault);
    const char *copy = r == 0 ? shown_at(settings, host->path) : NULL;
    if (copy == NULL)
        return r;
    r = file_read(copy, &text, fault);
    if (r < 0)
        return fault_set(fault, -r, "cannot read %s", copy);
    const char *line = buffer_string(&text);
    if (line == NULL)
        return fault_set(fault, ENOMEM, NO_MEMORY);
    while (r == 0 && line != NULL) {
        line += strspn(line, "\n");
        const char *value = NULL;
        const struct passed_setting *setting = passed_setting_of_line(line, &value);
        OWNED_MEMORY char *rest = setting != NULL ? strndup(value, strcspn(value, "\n")) : NULL;
        if (setting != NULL)
            r = rest != NULL ? show_value(settings, setting, rest, fault)
                             : fault_set(fault, ENOMEM, NO_MEMORY);
        if (r < 0)
            fault_prefix(fault, "%s", host->path);
        line = strchr(line, '\n');
    }
    return r;
}

/*
 * Shows a user's configuration file. Programs in the jail have another home, so a variable points
 * to the file.
 */
static int show_own(struct host_settings *settings, const char *directory, const char *below,
                    const char *variable, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    OWNED_MEMORY char *pair = NULL;
    if (directory == NULL || directory[0] != '/')
        return 0;
    if (asprintf(&path, "%s/%s", directory, below) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, NO_MEMORY);
    }
    path_straighten(path);
    if (asprintf(&pair, "%s=%s", variable, path) < 0) {
        pair = NULL;
        return fault_set(fault, ENOMEM, NO_MEMORY);
    }
    if (!file_exists(path) || variable_find(settings, pair) < settings->variable_count)
        return 0;
    const struct host_path own = {variable, path, VALUE_OWN_CONFIGURATION};
    int r = show_configuration(settings, &own, fault);
    return r == 0 ? set_or_tell(settings, pair, fault) : r;
}

static int configurations_read(struct host_settings *settings, struct fault *fault)
{
    static const char *const system_wide[] = {"/etc/pip.conf", "/etc/xdg/pip/pip.conf"};
    /* npm looks below its own prefix, which differs in the jail. */
    static const char *const npm_prefixes[] = {"/etc", "/usr/etc", "/usr/local/etc"};
    OWNED_MEMORY char *configuration = NULL;
    (void)xdg_directory("XDG_CONFIG_HOME", ".config", &configuration);
    const char *home = getenv("HOME");
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(system_wide); i++) {
        const struct host_path own = {"a default", system_wide[i], VALUE_OWN_CONFIGURATION};
        r = show_configuration(settings, &own, fault);
    }
    if (r == 0)
        r = show_own(settings, configuration, "pip/pip.conf", "PIP_CONFIG_FILE", fault);
    if (r == 0)
        r = show_own(settings, home, ".pip/pip.conf", "PIP_CONFIG_FILE", fault);
    if (r == 0)
        r = show_own(settings, home, ".npmrc", "NPM_CONFIG_USERCONFIG", fault);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(npm_prefixes); i++)
        r = show_own(settings, npm_prefixes[i], "npmrc", "NPM_CONFIG_GLOBALCONFIG", fault);
    return r;
}

int host_settings_read(struct host_settings *settings, const char *scratch, struct fault *fault)
{
    static const char *const names[] = {"/etc/resolv.conf", "/etc/hosts"};
    int r = 0;
    settings->scratch = scratch;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(names); i++)
        r = show_or_tell(settings, names[i], names[i], fault);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(bundles); i++)
        r = show_or_tell(settings, bundles[i], CA_BUNDLE, fault);
    if (r == 0)
        r = variables_read(settings, fault);
    if (r == 0)
        r = configurations_read(settings, fault);
    /* By default Node uses only its built-in certificates. */
    const char *certificates = "NODE_EXTRA_CA_CERTS=" CA_BUNDLE;
    if (r == 0 && variable_find(settings, certificates) == settings->variable_count)
        r = set_or_tell(settings, certificates, fault);
    return r;
}

void host_settings_tell(const struct host_settings *settings, struct progress *progress)
{
    for (size_t i = 0; i < settings->left_out_count; i++)
        progress_note(
            progress,
            "note: %s, which installers do not see: the image has files of its own there; copy "
            "it elsewhere",
            settings->left_out[i]);
}

void host_settings_release(struct host_settings *settings)
{
    for (size_t i = 0; i < settings->variable_count; i++)
        free(settings->variables[i]);
    for (size_t i = 0; i < settings->file_count; i++) {
        free((char *)settings->files[i].host_path);
        free((char *)settings->files[i].image_path);
    }
    for (size_t i = 0; i < settings->left_out_count; i++)
        free(settings->left_out[i]);
    *settings = (struct host_settings){0};
}
