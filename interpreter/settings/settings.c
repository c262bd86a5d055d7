#include "interpreter/settings/settings.h"
#include "images/store/catalog.h"
#include "images/store/store.h"
#include "images/store/xdg.h"
#include "interpreter/base/bounds.h"
#include "interpreter/settings/home_path.h"
#include "interpreter/settings/network_settings.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct settings settings_default(void)
{
    return (struct settings){
        .limits = run_limits_default(),
        .engine = {.warm = WARM_DEFAULT},
        .template = SWITCH_AUTO,
        .sessions = SESSIONS_DEFAULT,
        .network_said = NETWORK_UNSAID,
        .network = POLICY_OFF,
        .certificates = BUFFER(2 * CERTIFICATES_MAX),
        .session_idle_ms = SESSION_IDLE_DEFAULT_MS,
        .compile_cache = COMPILE_CACHE_DEFAULT,
        .session_checkpoints = SESSION_CHECKPOINTS_DEFAULT,
        .function_calls = FUNCTION_CALLS_DEFAULT,
        .function_ms = FUNCTION_DEFAULT_MS,
    };
}

void settings_release(struct settings *settings)
{
    environment_release(&settings->environment);
    for (size_t i = 0; i < settings->environment_file_count; i++)
        free(settings->environment_files[i]);
    mounts_release(&settings->mounts);
    policy_release(&settings->network);
    free(settings->network_proxy);
    free(settings->ca_file);
    fleet_settings_release(&settings->fleet);
    free(settings->policy);
    buffer_release(&settings->certificates);
    folders_release(&settings->folders);
    overlay_place_release(&settings->copies);
    free(settings->mount_under);
    for (size_t i = 0; i < LANGUAGES_MAX; i++)
        free(settings->images[i]);
    free(settings->log.path);
    free(settings->metrics_file);
    free(settings->http);
    free(settings->http_token_file);
    free(settings->http_hosts);
    free(settings->preload);
    free(settings->roots);
    free(settings->files_dir);
    free(settings->files_dir_said);
    if (settings->holds_files_dir)
        fd_close(&settings->files_dir_fd);
    free(settings->profile_path);
    free(settings->profile);
    free(settings->configuration);
    free(settings->configuration_read);
    origins_release(&settings->origins);
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
    struct settings *settings = data;
    return home_path_expand(option->name, value, &settings->configuration, fault);
}

int settings_compile_cache(char **ret_path)
{
    OWNED_MEMORY char *cache = NULL;
    int r = xdg_directory("XDG_CACHE_HOME", ".cache", &cache);
    if (r == 0 && asprintf(ret_path, "%s/code-sandbox-mcp/programs", cache) < 0)
        r = -ENOMEM;
    return r;
}

/* One of those that are always there, whose image it shares: TypeScript runs where JavaScript does. NULL: it has its own. */
static const struct language *of_same_image(const struct language *language)
{
    if (language->is_own)
        return NULL; /* it runs on what its file says */
    for (size_t i = 0; i < LANGUAGE_COUNT && languages[i] != NULL; i++)
        if (strcmp(languages[i]->image, language->image) == 0)
            return languages[i];
    return NULL;
}

bool settings_has_own_image(const struct language *language)
{
    return language->is_data && of_same_image(language) == NULL;
}

const char *settings_image(const struct settings *settings, const struct language *language)
{
    const char *named = settings->images[language_place(language)];
    OWNED_MEMORY char *store = NULL;
    if (named != NULL)
        return named;
    if (language->is_data) /* the image for all has none of these */
        return of_same_image(language) != NULL ? settings_image(settings, of_same_image(language))
                                               : language->image;
    bool has_own = store_path(&store, NULL) < 0 || image_is_there(store, language->image);
    return has_own ? language->image : AGENT_IMAGE;
}

bool settings_offer(const struct settings *settings, const struct language *language)
{
    if (!language->optional || settings->images[language_place(language)] != NULL)
        return true;
    OWNED_MEMORY char *store = NULL;
    OWNED(image_release) struct image image = {0};
    return store_path(&store, NULL) == 0 &&
           image_open(store, settings_image(settings, language), &image, NULL) == 0;
}
