#include "mcp/settings/settings.h"
#include "images/store/store.h"
#include "mcp/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASS_THROUGH_MAX 256

struct settings settings_default(void)
{
    return (struct settings){.limits = run_limits_default(), .engine = {.warm = WARM_DEFAULT}};
}

void settings_release(struct settings *settings)
{
    for (size_t i = 0; i < settings->environment_count; i++)
        free(settings->environment[i]);
    free(settings->environment);
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        free(settings->images[i]);
    free(settings->log.path);
    free(settings->preload);
    free(settings->profile_path);
    free(settings->profile);
    free(settings->configuration_read);
    free(settings->said);
    *settings = (struct settings){0};
}

int settings_remember(void *data, const struct option *option, const char *value,
                      struct fault *fault)
{
    struct settings *settings = data;
    struct said *grown =
        reallocarray(settings->said, settings->said_count + 1, sizeof(*settings->said));
    if (grown == NULL)
        return fault_set(fault, ENOMEM, "reading the command line: %m");
    settings->said = grown;
    settings->said[settings->said_count++] = (struct said){option, value};
    return 0;
}

int settings_name_configuration(void *data, const struct option *option, const char *value,
                                struct fault *fault)
{
    (void)option;
    (void)fault;
    struct settings *settings = data;
    settings->configuration = value;
    return 0;
}

static bool is_variable_name(const char *name, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return length > 0 && strchr(letters, name[0]) != NULL && strspn(name, rest) >= length;
}

int settings_pass_variable(struct settings *settings, const char *name, size_t length,
                           struct fault *fault)
{
    if (!is_variable_name(name, length))
        return fault_set(fault, EINVAL,
                         "\"%.*s\" is no name of an environment variable: give names only (the "
                         "values are taken from this program's own environment)",
                         length < 40 ? (int)length : 40, name);
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

const char *settings_image(const struct settings *settings, const struct language *language)
{
    const char *named = settings->images[language_id(language)];
    return named != NULL ? named : language->image;
}

bool settings_offer(const struct settings *settings, const struct language *language)
{
    if (!language->optional || settings->images[language_id(language)] != NULL)
        return true;
    OWNED_MEMORY char *store = NULL;
    OWNED(image_release) struct image image = {0};
    return store_path(&store, NULL) == 0 && image_open(store, language->image, &image, NULL) == 0;
}
