#include "images/build/host_settings.h"

#include "images/base/file.h"
#include "images/store/xdg.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* Variables by name, or by prefix if the entry ends with '*'; upper or lower case. */
static const char *const passed_variables[] = {
    "http_proxy",          "https_proxy",    "no_proxy",     "all_proxy",      "PIP_*",
    "npm_config_*",        "SSL_CERT_FILE",  "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
};

/* Certificate bundles of distributions. Programs of an image look in Debian's place. */
static const char *const bundles[] = {
    CA_BUNDLE,
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

static bool name_matches(const char *pair, const char *pattern)
{
    size_t length = strlen(pattern);
    if (pattern[length - 1] == '*')
        return strncasecmp(pair, pattern, length - 1) == 0;
    return strncasecmp(pair, pattern, length) == 0 && pair[length] == '=';
}

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
        return 0; /* too many variables: ignore the rest */
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
        return 0;
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
    return path[0] == '/' && strcmp(path, "/") != 0 && strcmp(path, "/etc") != 0 &&
           strcmp(path, "/usr") != 0 && strcmp(path, "/var") != 0 && strstr(path, "/../") == NULL;
}

/* Shows each absolute path among the words of a value: "/opt/wheels https://host/simple". */
static int show_words(struct host_settings *settings, const char *value)
{
    int r = 0;
    while (r == 0 && *value != '\0') {
        value += strspn(value, " \t\"'");
        size_t length = strcspn(value, " \t\"'\r\n");
        OWNED_MEMORY char *word = strndup(value, length);
        if (word == NULL)
            return -ENOMEM;
        if (may_cover(word))
            r = host_settings_show(settings, word, word);
        value += length + (value[length] == '\r' || value[length] == '\n');
    }
    return r;
}

static int variables_read(struct host_settings *settings)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(own_variables); i++)
        r = variable_set(settings, own_variables[i]);
    for (char **pair = environ; r == 0 && *pair != NULL; pair++) {
        bool passed = false;
        for (size_t i = 0; i < ARRAY_LENGTH(passed_variables); i++)
            passed = passed || name_matches(*pair, passed_variables[i]);
        if (passed && strchr(*pair, '=') != NULL)
            r = variable_set(settings, *pair);
        if (r == 0 && passed && strchr(*pair, '=') != NULL)
            r = show_words(settings, strchr(*pair, '=') + 1);
    }
    return r;
}

/* Shows a configuration file, and the files named in its lines NAME = VALUE. */
static int show_configuration(struct host_settings *settings, const char *path)
{
    static const char *const names[] = {"cert", "client-cert", "find-links", "cafile"};
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    if (!may_cover(path) || file_read(path, &text, NULL) < 0)
        return 0;
    int r = host_settings_show(settings, path, path);
    const char *line = buffer_string(&text);
    if (line == NULL)
        return -ENOMEM;
    while (r == 0 && line != NULL) {
        line += strspn(line, " \t\n");
        size_t length = strcspn(line, " \t=\n");
        const char *value = line + length + strspn(line + length, " \t");
        for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(names); i++) {
            if (strlen(names[i]) != length || strncmp(line, names[i], length) != 0 || *value != '=')
                continue;
            OWNED_MEMORY char *rest = strndup(value + 1, strcspn(value + 1, "\n"));
            r = rest != NULL ? show_words(settings, rest) : -ENOMEM;
        }
        line = strchr(line, '\n');
    }
    return r;
}

/*
 * Shows a user's configuration file. Programs in the jail have another home, so a variable points
 * to the file.
 */
static int show_own(struct host_settings *settings, const char *directory, const char *below,
                    const char *variable)
{
    OWNED_MEMORY char *path = NULL;
    OWNED_MEMORY char *pair = NULL;
    if (directory == NULL || directory[0] != '/')
        return 0;
    if (asprintf(&path, "%s/%s", directory, below) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    if (asprintf(&pair, "%s=%s", variable, path) < 0) {
        pair = NULL;
        return -ENOMEM;
    }
    if (!file_exists(path) || variable_find(settings, pair) < settings->variable_count)
        return 0;
    int r = show_configuration(settings, path);
    return r == 0 ? variable_set(settings, pair) : r;
}

static int configurations_read(struct host_settings *settings)
{
    static const char *const system_wide[] = {"/etc/pip.conf", "/etc/xdg/pip/pip.conf"};
    /* npm looks below its own prefix, which differs in the jail. */
    static const char *const npm_prefixes[] = {"/etc", "/usr/etc", "/usr/local/etc"};
    OWNED_MEMORY char *configuration = NULL;
    (void)xdg_directory("XDG_CONFIG_HOME", ".config", &configuration);
    const char *home = getenv("HOME");
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(system_wide); i++)
        r = show_configuration(settings, system_wide[i]);
    if (r == 0)
        r = show_own(settings, configuration, "pip/pip.conf", "PIP_CONFIG_FILE");
    if (r == 0)
        r = show_own(settings, home, ".pip/pip.conf", "PIP_CONFIG_FILE");
    if (r == 0)
        r = show_own(settings, home, ".npmrc", "NPM_CONFIG_USERCONFIG");
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(npm_prefixes); i++)
        r = show_own(settings, npm_prefixes[i], "npmrc", "NPM_CONFIG_GLOBALCONFIG");
    return r;
}

int host_settings_read(struct host_settings *settings, struct fault *fault)
{
    static const char *const names[] = {"/etc/resolv.conf", "/etc/hosts"};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(names); i++)
        r = host_settings_show(settings, names[i], names[i]);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(bundles); i++)
        r = host_settings_show(settings, bundles[i], CA_BUNDLE);
    if (r == 0)
        r = variables_read(settings);
    if (r == 0)
        r = configurations_read(settings);
    /* By default Node uses only its built-in certificates. */
    const char *certificates = "NODE_EXTRA_CA_CERTS=" CA_BUNDLE;
    if (r == 0 && variable_find(settings, certificates) == settings->variable_count)
        r = variable_set(settings, certificates);
    return r < 0 ? fault_set(fault, -r, "no memory for the settings of this host") : 0;
}

void host_settings_release(struct host_settings *settings)
{
    for (size_t i = 0; i < settings->variable_count; i++)
        free(settings->variables[i]);
    for (size_t i = 0; i < settings->file_count; i++) {
        free((char *)settings->files[i].host_path);
        free((char *)settings->files[i].image_path);
    }
    *settings = (struct host_settings){0};
}
