#include "interpreter/settings/configuration.h"
#include "images/store/xdg.h"
#include "interpreter/base/bounds.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/small_file.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WHAT_MAX 512 /* "memory" in /home/user/.config/code-sandbox-mcp/config.json */

/* What the kinds of settings look like in JSON. */
static const struct {
    bool number, string, boolean, array, object;
    const char *form; /* for people */
} forms[] = {
    [SETTING_SIZE] = {.number = true,
                      .string = true,
                      .form = "a string such as \"512M\", or a "
                              "number of bytes"},
    [SETTING_COUNT] = {.number = true, .form = "a number"},
    [SETTING_SECONDS] = {.number = true,
                         .string = true,
                         .form = "a number of seconds, or a string such as \"5m\""},
    [SETTING_PROCESSORS] = {.number = true, .form = "a number"},
    [SETTING_CHOICE] = {.string = true, .form = "a string"},
    [SETTING_FLAG] = {.boolean = true, .form = "true or false"},
    [SETTING_PATH] = {.string = true, .form = "a path"},
    [SETTING_PLACE] = {.string = true, .form = "a path"},
    [SETTING_TEXT] = {.string = true, .form = "a string"},
    [SETTING_MODULES] = {.string = true, .form = "names of modules: \"numpy,pandas\""},
    [SETTING_IMAGE] = {.string = true, .form = "the name of an image"},
    [SETTING_NAMES] = {.array = true, .form = "an array of names: [\"LANG\", \"TZ\"]"},
    [SETTING_ENVIRONMENT] = {.object = true,
                             .form = "an object with a string for each name: {\"TZ\": \"UTC\", "
                                     "\"python:LEVEL\": \"2\"}"},
    [SETTING_ENVIRONMENT_FILE] = {.string = true,
                                  .array = true,
                                  .form = "a path, or an array of "
                                          "paths"},
    [SETTING_HOSTS] = {.string = true,
                       .array = true,
                       .form = "an array of hosts: [\"api.example.org\", \"db.example.org:5432\"]"},
    [SETTING_MOUNT] = {.array = true,
                       .form = "an array of folders: [{\"path\": \"/home/me/project\", \"mode\": "
                               "\"ro\", \"at\": \"/project\"}]; mode and at may be left out"},
};

const char *configuration_form(const struct setting *setting)
{
    return setting->form != NULL ? setting->form : forms[setting->kind].form;
}

static bool has_form(const struct json_value *value, enum setting_kind kind)
{
    switch (value->type) {
    case JSON_NUMBER:
        return forms[kind].number;
    case JSON_STRING:
        return forms[kind].string && strlen(value->text) == value->length;
    case JSON_BOOLEAN:
        return forms[kind].boolean;
    case JSON_ARRAY:
        return forms[kind].array;
    case JSON_OBJECT:
        return forms[kind].object;
    case JSON_NULL:
        break;
    }
    return false;
}

static int pass_name(struct settings *settings, const char *what, const struct json_value *name,
                     struct fault *fault)
{
    int r = environment_pass(&settings->environment, name->text, name->length, fault);
    if (r < 0)
        fault_prefix(fault, "%s", what);
    return r;
}

/* Names, or paths of environment files. */
static int set_array(struct settings *settings, const struct setting *setting, const char *what,
                     const struct json_value *array, struct fault *fault)
{
    int r = 0;
    for (const struct json_value *item = array->first; r == 0 && item != NULL; item = item->next) {
        bool is_name = setting->kind == SETTING_NAMES;
        if (item->type != JSON_STRING || (!is_name && strlen(item->text) != item->length))
            return fault_set(fault, EINVAL, "%s must be %s", what, configuration_form(setting));
        r = is_name ? pass_name(settings, what, item, fault)
                    : setting_set(settings, setting, what, item->text, fault);
    }
    return r;
}

/* The text of a member, or NULL with *ret_is_wrong set if it is there in another form. */
static const char *path_member(const struct json_value *object, const char *key, bool *ret_is_wrong)
{
    const struct json_value *member = json_member(object, key);
    if (member == NULL)
        return NULL;
    if (member->type == JSON_STRING && member->length > 0 && strlen(member->text) == member->length)
        return member->text;
    *ret_is_wrong = true;
    return NULL;
}

/* {"path": "/src", "mode": "ro", "at": "/mnt/src"}. */
static int set_mount(struct settings *settings, const char *what, const struct json_value *item,
                     struct fault *fault)
{
    bool is_wrong = item->type != JSON_OBJECT;
    const char *path = is_wrong ? NULL : path_member(item, "path", &is_wrong);
    const char *mode = is_wrong ? NULL : path_member(item, "mode", &is_wrong);
    const char *place = is_wrong ? NULL : path_member(item, "at", &is_wrong);
    for (const struct json_value *member = is_wrong ? NULL : item->first; member != NULL;
         member = member->next)
        is_wrong = is_wrong || json_member(item, member->key) != member ||
                   !(json_key_is(member, "path") || json_key_is(member, "mode") ||
                     json_key_is(member, "at"));
    if (is_wrong || path == NULL)
        return fault_set(fault, EINVAL, "%s must be %s", what, forms[SETTING_MOUNT].form);
    if (path[0] != '/' && path[0] != '~' && strcmp(path, MOUNT_PROJECT) != 0)
        return fault_set(fault, EINVAL,
                         "%s: the path \"%s\" must begin with / or ~/, or be \"" MOUNT_PROJECT "\"",
                         what, path);
    struct mount mount = {.source = (char *)what, .path = (char *)path, .place = (char *)place};
    int r = mode != NULL ? mount_mode_read(mode, &mount.mode, fault) : 0;
    if (r < 0) {
        fault_prefix(fault, "%s", what);
        return r;
    }
    return mounts_add(&settings->mounts, &mount, fault);
}

static int set_mounts(struct settings *settings, const char *what, const struct json_value *array,
                      struct fault *fault)
{
    int r = 0;
    for (const struct json_value *item = array->first; r == 0 && item != NULL; item = item->next)
        r = set_mount(settings, what, item, fault);
    return r;
}

static size_t count_key(const struct json_value *object, const struct json_value *member)
{
    size_t count = 0;
    for (const struct json_value *other = object->first; other != NULL; other = other->next)
        count += other->key_length == member->key_length &&
                 memcmp(other->key, member->key, member->key_length) == 0;
    return count;
}

/* {"NAME": "VALUE", "LANGUAGE:NAME": "VALUE"}. Keys are not shown: one may be a misplaced value. */
static int set_environment(struct settings *settings, const char *what,
                           const struct json_value *object, struct fault *fault)
{
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        if (member->type != JSON_STRING)
            return fault_set(fault, EINVAL, "%s must be %s", what, forms[SETTING_ENVIRONMENT].form);
        if (memchr(member->key, '=', member->key_length) != NULL)
            return fault_set(fault, EINVAL, "%s has a name with a =", what);
        if (count_key(object, member) > 1)
            return fault_set(fault, EINVAL, "%s has a name twice: remove one", what);
        OWNED(buffer_release) struct buffer text = BUFFER(CONFIGURATION_MAX * 2);
        int r = buffer_append(&text, member->key, member->key_length);
        if (r == 0)
            r = buffer_append(&text, "=", 1);
        if (r == 0)
            r = buffer_append(&text, member->text, member->length);
        r = r < 0 ? fault_set(fault, -r, "reading %s: %m", what)
                  : environment_set(&settings->environment, ENVIRONMENT_SET, what, text.data,
                                    text.length, fault);
        if (r < 0)
            return r;
        settings->environment.is_in_configuration = true;
    }
    return 0;
}

static int set_member(struct settings *settings, const struct setting *setting, const char *path,
                      const struct json_value *value, struct fault *fault)
{
    char what[WHAT_MAX];
    snprintf(what, sizeof(what), "\"%s\" in %s", setting->key, path);
    if (!has_form(value, setting->kind))
        return fault_set(fault, EINVAL, "%s must be %s", what, configuration_form(setting));
    if (setting->kind == SETTING_MOUNT)
        return set_mounts(settings, what, value, fault);
    if (value->type == JSON_ARRAY)
        return set_array(settings, setting, what, value, fault);
    if (value->type == JSON_OBJECT)
        return set_environment(settings, what, value, fault);
    const char *text =
        value->type == JSON_BOOLEAN ? (value->boolean ? "true" : "false") : value->text;
    return setting_set(settings, setting, what, text, fault);
}

static int refuse_key(const char *path, const struct spelling *spelling, struct fault *fault)
{
    if (spelling->nearest != NULL)
        return fault_set(fault, EINVAL, "%s: unknown key \"%.60s\": did you mean \"%s\"?", path,
                         spelling->word, spelling->nearest);
    return fault_set(fault, EINVAL,
                     "%s: unknown key \"%.60s\": the keys are the options that `code-sandbox-mcp "
                     "--help` lists, with _ for -",
                     path, spelling->word);
}

/* The option of that key; NULL with a fault when there is none. */
static const struct option *find_option(const struct json_value *member, const char *path,
                                        struct fault *fault)
{
    struct spelling spelling = spelling_of(member->key);
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; option->name != NULL; option++) {
            if (option->setting == NULL)
                continue;
            if (json_key_is(member, option->setting->key))
                return option;
            spelling_offer(&spelling, option->setting->key);
        }
    }
    refuse_key(path, &spelling, fault);
    return NULL;
}

static int set_members(struct settings *settings, const char *path, const struct json_value *root,
                       struct fault *fault)
{
    if (root->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "%s must contain one JSON object: {\"memory\": \"512M\"}",
                         path);
    for (const struct json_value *member = root->first; member != NULL; member = member->next) {
        const struct option *option = find_option(member, path, fault);
        if (option == NULL)
            return -EINVAL;
        if (json_member(root, option->setting->key) != member)
            return fault_set(fault, EINVAL, "%s: the key \"%s\" appears twice: remove one", path,
                             option->setting->key);
        int r = set_member(settings, option->setting, path, member, fault);
        if (r == 0)
            r = origins_note(&settings->origins, option, ORIGIN_CONFIGURATION,
                             setting_adds_up(option->setting), fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_path(struct settings *settings, const char *path, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(CONFIGURATION_MAX * 2);
    int r = small_file_read(path, "the configuration", CONFIGURATION_MAX, &text, fault);
    if (r < 0)
        return r;
    OWNED(json_release) struct json *json = NULL;
    struct fault cause = {0};
    r = json_parse(text.data, text.length, &json, &cause);
    if (r < 0)
        return fault_set(fault, EINVAL, "the configuration %s is not JSON: %s", path, cause.text);
    return set_members(settings, path, json_root(json), fault);
}

int configuration_directory(char **ret_path)
{
    OWNED_MEMORY char *directory = NULL;
    int r = xdg_directory("XDG_CONFIG_HOME", ".config", &directory);
    if (r == 0 && asprintf(ret_path, "%s/code-sandbox-mcp", directory) < 0)
        r = -ENOMEM;
    return r;
}

/* Where it is looked for when --config does not say. As xdg_directory(). */
static int usual_path(char **ret_path)
{
    OWNED_MEMORY char *directory = NULL;
    int r = configuration_directory(&directory);
    if (r == 0 && asprintf(ret_path, "%s/config.json", directory) < 0)
        r = -ENOMEM;
    return r;
}

int configuration_read(struct settings *settings, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    int r = 0;
    if (settings->configuration != NULL)
        path = strdup(settings->configuration);
    else
        r = usual_path(&path);
    if (r == -ENOENT)
        return 0; /* a user without a home has no configuration there */
    if (path == NULL)
        return fault_set(fault, ENOMEM, "reading the configuration: %m");
    r = read_path(settings, path, fault);
    if (r == -ENOENT)
        return settings->configuration == NULL
                   ? 0
                   : fault_set(fault, ENOENT, "there is no configuration %s (--config)", path);
    if (r == 0)
        settings->configuration_read = pointer_take(&path);
    return r;
}
