#include "mcp/tools/code_tool.h"
#include "images/store/catalog.h"
#include "images/store/store.h"
#include "interpreter/checker.h"
#include "interpreter/network_text.h"
#include "interpreter/result/hints.h"
#include "interpreter/settings/mounts_text.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"

#include <string.h>

bool code_tool_is_offered(const struct tool *tool, const struct settings *settings)
{
    if (tool->language != NULL)
        return settings_offer(settings, tool->language);
    for (size_t i = LANGUAGE_COUNT; i < language_count; i++)
        if (settings_has_own_image(languages[i]) && settings_offer(settings, languages[i]))
            return true;
    return false;
}

/* Whether it is there; release it in any case. */
static bool open_image(const char *name, struct image *ret_image)
{
    OWNED_MEMORY char *store = NULL;
    return store_path(&store, NULL) == 0 && image_open(store, name, ret_image, NULL) == 0;
}

/* With its version, if the image is its own: others tell of what else they have. */
static const char *describe_language(const struct image *image, const struct language *language)
{
    bool is_own = strncmp(image->summary, language->title, strlen(language->title)) == 0;
    return is_own ? image->summary : language->title;
}

/* Those that are there, as their images tell. */
static void describe_languages(struct buffer *text, const struct settings *settings)
{
    const char *before =
        "Runs a program in a sandbox and returns its output. Its language is one of: ";
    for (size_t i = LANGUAGE_COUNT; i < language_count; i++) {
        OWNED(image_release) struct image image = {0};
        if (!open_image(settings_image(settings, languages[i]), &image))
            continue;
        const char *told = describe_language(&image, languages[i]);
        buffer_format(text, "%s%.*s", before, (int)strcspn(told, ";"), told);
        before = ", ";
    }
    buffer_append_text(text, ". Their standard libraries are there, and little else.");
}

/* What can be imported, as the image tells that is really there. */
static void describe_libraries(struct buffer *text, const struct language *language,
                               const struct settings *settings)
{
    OWNED(image_release) struct image image = {0};
    const char *name = settings_image(settings, language);
    bool is_there = open_image(name, &image);
    bool is_usual = strcmp(name, language->image) == 0 || strcmp(name, AGENT_IMAGE) == 0;
    if (is_there && image.summary[0] != '\0') {
        hint_write_installed(image.summary, text);
    } else if (!is_there && is_usual) {
        buffer_append_text(text, language->libraries);
    } else {
        buffer_append_text(text, "The resource sandbox://environments lists the libraries.");
    }
}

int code_tool_advise(const struct language *language, const struct settings *settings,
                     const char *image_name, const struct run_result *result, struct buffer *text)
{
    struct hint hint = hint_find(language, result);
    OWNED(image_release) struct image image = {0};
    if (hint.kind == HINT_NOT_INSTALLED)
        open_image(image_name, &image);
    /* Only images that have layers get another one. */
    const struct hint_image view = {.name = image.layer_count > 0 ? image.name : NULL,
                                    .summary = image.summary,
                                    .has_sessions = settings->sessions > 0,
                                    .has_network = settings->network.mode != NETWORK_OFF};
    /* There, the name would be known if it had been defined. */
    if ((hint.kind == HINT_UNDEFINED || hint.kind == HINT_NOTEBOOK) &&
        result->session != SESSION_UNUSED)
        hint.kind = HINT_NONE;
    return hint_write(&hint, &view, text);
}

/* Of rules that only warn, a model reads when it breaks them. */
static void describe_rules(struct buffer *text, const struct tool *tool,
                           const struct settings *settings)
{
    const char *policy = settings->policy;
    bool may_refuse = policy != NULL && strcmp(policy, "off") != 0 && strcmp(policy, "hints") != 0;
    if (may_refuse && tool->language != NULL && checker_knows(tool->language))
        buffer_append_text(text, " A program may be refused by rules of this computer; the result "
                                 "says why.");
}

static void describe_time(struct buffer *text, const struct settings *settings)
{
    buffer_format(text, " It is stopped after %.8g seconds",
                  quantity_seconds(settings->limits.wall_ms));
    if (settings->wall_max_ms > settings->limits.wall_ms)
        buffer_format(text, "; timeout_seconds can allow up to %.8g",
                      quantity_seconds(settings->wall_max_ms));
    buffer_append_text(text, ".");
}

/* What one call leaves for the next. */
static void describe_state(struct buffer *text, const struct tool *tool,
                           const struct settings *settings)
{
    const struct session_runner *runner =
        settings->sessions > 0 && tool->language != NULL ? tool->language->session : NULL;
    buffer_append_text(text, " Each call is a fresh process in a fresh directory");
    if (runner == NULL) {
        buffer_append_text(text, ": nothing is kept between calls.");
        return;
    }
    buffer_format(text, ", unless session is given, which keeps %s between calls%s.", runner->kept,
                  runner->kind == SESSION_LIVE ? " and shows the value of a last expression" : "");
}

/* The network, and the files of this computer. */
static void describe_reach(struct buffer *text, const struct settings *settings)
{
    bool has_network = settings->network.mode != NETWORK_OFF;
    bool has_folders = settings->folders.count > 0;
    buffer_append_text(text, has_network ? " " : " There is no network");
    if (has_network)
        network_text_describe(&settings->network, text);
    buffer_append_text(text, has_folders ? "; " : has_network ? "; there is " : " and ");
    mounts_describe(&settings->folders, text);
    buffer_append_text(text, ".");
}

/* One sentence for each thing to know; one that can be turned off is left out with it. */
void code_tool_describe(const struct tool *tool, const struct settings *settings,
                        struct buffer *text)
{
    if (tool->language == NULL) {
        describe_languages(text, settings);
    } else {
        buffer_format(text, "%s ", tool->language->description);
        describe_libraries(text, tool->language, settings);
    }
    describe_state(text, tool, settings);
    describe_reach(text, settings);
    describe_time(text, settings);
    describe_rules(text, tool, settings);
    buffer_append_text(text, " Pictures saved in its directory (PNG, JPEG, GIF, WebP) are shown; "
                             "other files left there are returned.");
}
