#include "mcp/settings.h"
#include "images/store.h"
#include "mcp/log.h"
#include "mcp/options.h"
#include "mcp/spelling.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASS_THROUGH_MAX 256
#define PARALLEL_MAX 256

struct settings settings_default(void)
{
    return (struct settings){.wall_ms = RUN_WALL_DEFAULT_MS};
}

void settings_release(struct settings *settings)
{
    for (size_t i = 0; i < settings->environment_count; i++)
        free(settings->environment[i]);
    free(settings->environment);
    free(settings->bound_image);
    *settings = settings_default();
}

int settings_apply_timeout(void *data, const char *value, struct fault *fault)
{
    struct settings *settings = data;
    long long milliseconds;
    int r = option_seconds(value, "--timeout", RUN_WALL_MAX_MS, &milliseconds, fault);
    if (r == 0)
        settings->wall_ms = milliseconds;
    return r;
}

int settings_apply_parallel(void *data, const char *value, struct fault *fault)
{
    struct settings *settings = data;
    long long parallel;
    int r = option_integer(value, "--parallel", 1, PARALLEL_MAX, &parallel, fault);
    if (r == 0)
        settings->parallel = (unsigned)parallel;
    return r;
}

int settings_apply_result_format(void *data, const char *value, struct fault *fault)
{
    static const struct {
        const char *name;
        enum result_format format;
    } formats[] = {{"text", RESULT_TEXT}, {"json", RESULT_JSON}, {"structured", RESULT_STRUCTURED}};
    struct settings *settings = data;
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        if (strcmp(formats[i].name, value) == 0) {
            settings->result_format = formats[i].format;
            return 0;
        }
    }
    return fault_set(fault, EINVAL,
                     "--result-format must be text, json or structured, not \"%.40s\"", value);
}

static bool is_variable_name(const char *name, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return length > 0 && strchr(letters, name[0]) != NULL && strspn(name, rest) >= length;
}

/* Adds NAME=VALUE once, with the value that this process has; a variable it lacks is left out. */
static int pass_variable(struct settings *settings, const char *name, size_t length,
                         struct fault *fault)
{
    OWNED_MEMORY char *key = strndup(name, length);
    if (key == NULL)
        return fault_set(fault, ENOMEM, "reading the environment: %m");
    const char *value = getenv(key);
    if (value == NULL)
        return 0;
    for (size_t i = 0; i < settings->environment_count; i++) {
        const char *known = settings->environment[i];
        if (strncmp(known, key, length) == 0 && known[length] == '=')
            return 0;
    }
    if (settings->environment_count == PASS_THROUGH_MAX)
        return fault_set(fault, EINVAL, "more than %d variables to pass through", PASS_THROUGH_MAX);
    char **grown =
        reallocarray(settings->environment, settings->environment_count + 1, sizeof(*grown));
    if (grown == NULL)
        return fault_set(fault, ENOMEM, "reading the environment: %m");
    settings->environment = grown;
    if (asprintf(&grown[settings->environment_count], "%s=%s", key, value) < 0)
        return fault_set(fault, ENOMEM, "reading the environment: %m");
    settings->environment_count++;
    return 0;
}

int settings_apply_pass_through(void *data, const char *value, struct fault *fault)
{
    for (const char *name = value; *name != '\0';) {
        name += strspn(name, ", \t");
        size_t length = strcspn(name, ", \t");
        if (length == 0)
            break;
        if (!is_variable_name(name, length))
            return fault_set(fault, EINVAL,
                             "\"%.*s\" is no name of an environment variable: give names only, "
                             "separated by commas (the values are taken from this program's own "
                             "environment)",
                             length < 40 ? (int)length : 40, name);
        int r = pass_variable(data, name, length, fault);
        if (r < 0)
            return r;
        name += length;
    }
    return 0;
}

static void note_unknown_language(const char *name, const char *image)
{
    struct spelling spelling = spelling_of(name);
    size_t count;
    const struct language *languages = language_list(&count);
    for (size_t i = 0; i < count; i++)
        spelling_offer(&spelling, languages[i].name);
    log_note("CONTAINER_LANGUAGE is %.40s, which is no language known here%s%s%s: "
             "CONTAINER_IMAGE=%.80s is not used",
             name, spelling.nearest != NULL ? " (did you mean " : "",
             spelling.nearest != NULL ? spelling.nearest : "", spelling.nearest != NULL ? "?)" : "",
             image);
}

/* CONTAINER_IMAGE replaces the image of one language: CONTAINER_LANGUAGE, else Python. */
static int bind_image(struct settings *settings, struct fault *fault)
{
    const char *image = getenv("CONTAINER_IMAGE");
    const char *name = getenv("CONTAINER_LANGUAGE");
    bool named = name != NULL && name[0] != '\0';
    if (image == NULL || image[0] == '\0') {
        if (named)
            log_note("CONTAINER_LANGUAGE=%.40s does nothing without CONTAINER_IMAGE", name);
        return 0;
    }
    if (!named)
        log_note("CONTAINER_IMAGE is set without CONTAINER_LANGUAGE: python snippets will run on "
                 "%.80s",
                 image);
    const struct language *language = language_find(named ? name : "python");
    if (language == NULL) {
        note_unknown_language(name, image);
        return 0;
    }
    settings->bound_image = strdup(image);
    if (settings->bound_image == NULL)
        return fault_set(fault, ENOMEM, "reading CONTAINER_IMAGE: %m");
    settings->bound_language = language;
    if (image_name_check(image, NULL) < 0)
        log_note("CONTAINER_IMAGE=%.80s names no image of the store, so %s snippets cannot run: "
                 "export its root file system as a tar, `code-sandbox-mcp fetch --from FILE "
                 "--name NAME`, and set CONTAINER_IMAGE=NAME",
                 image, language->name);
    return 0;
}

int settings_read_environment(struct settings *settings, struct fault *fault)
{
    if (getenv("BACKEND") != NULL)
        log_note("BACKEND is ignored: snippets run in namespaces, without a container engine");
    const char *names = getenv("PASSTHROUGH_ENV");
    struct fault ignored = {0};
    int r = names != NULL ? settings_apply_pass_through(settings, names, &ignored) : 0;
    if (r == -ENOMEM)
        return fault_set(fault, ENOMEM, "reading PASSTHROUGH_ENV: %m");
    if (r < 0)
        log_note("PASSTHROUGH_ENV is not heeded from there on: %s", ignored.text);
    return bind_image(settings, fault);
}

const char *settings_image(const struct settings *settings, const struct language *language)
{
    return settings->bound_language == language ? settings->bound_image : language->image;
}
