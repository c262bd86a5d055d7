#include "interpreter/settings/network_presets.h"

#include "images/store/xdg.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/small_file.h"
#include "sandbox/base/owned.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 8
#define HOST_TEXT_MAX 300 /* bytes: a name and a port */

struct preset {
    const char *name;
    /* Each may have a '*' at its beginning: "*:registry". Those that replace the hosts of `otherwise` come first. */
    const char *replacing[WORDS_MAX], *adding[WORDS_MAX]; /* keys of the files, and variables */
    /* glob(7) patterns; "~/" is the home directory, "+/" that of configurations, "$NAME" a variable's file. */
    const char *files[WORDS_MAX];
    const char *otherwise[WORDS_MAX]; /* unless the settings name another */
    const char *always[24];
};

static const struct preset presets[] = {
    {
        .name = "@python",
        .replacing = {"index-url", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"},
        .adding = {"extra-index-url", "find-links", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
                   "UV_INDEX", "UV_EXTRA_INDEX_URL"},
        .files = {"/etc/pip.conf", "/etc/xdg/pip/pip.conf", "+/pip/pip.conf", "~/.pip/pip.conf",
                  "$PIP_CONFIG_FILE"},
        .otherwise = {"pypi.org", "files.pythonhosted.org"},
    },
    {
        .name = "@npm",
        .replacing = {"registry", "npm_config_registry"},
        .adding = {"*:registry"},
        .files = {"/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "~/.npmrc",
                  "$NPM_CONFIG_USERCONFIG"},
        .otherwise = {"registry.npmjs.org"},
    },
    {
        .name = "@debian",
        .replacing = {"deb", "deb-src", "URIs"},
        .files = {"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list",
                  "/etc/apt/sources.list.d/*.sources"},
        .otherwise = {"deb.debian.org", "security.debian.org"},
    },
    {
        .name = "@github",
        .always = {"github.com", "github.com:22", "api.github.com", "uploads.github.com",
                   "codeload.github.com", "gist.github.com", "raw.githubusercontent.com",
                   "gist.githubusercontent.com", "objects.githubusercontent.com",
                   "media.githubusercontent.com", "release-assets.githubusercontent.com"},
    },
    {
        .name = "@models",
        .always = {"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com",
                   "aiplatform.googleapis.com", "api.mistral.ai", "api.cohere.com", "api.groq.com",
                   "api.deepseek.com", "api.x.ai", "api.together.xyz", "openrouter.ai",
                   "router.huggingface.co"},
    },
};

static bool is_one_of(const char *const words[WORDS_MAX], const char *key, size_t length)
{
    for (size_t i = 0; i < WORDS_MAX && words[i] != NULL; i++) {
        const char *word = words[i];
        size_t size = strlen(word);
        size_t skip = 0;
        if (word[0] == '*') {
            word++;
            size--;
            skip = length > size ? length - size : 0;
        }
        if (length - skip == size && strncasecmp(key + skip, word, size) == 0)
            return true;
    }
    return false;
}

struct preset_search {
    const struct preset *preset;
    struct policy *policy;
    enum rule_list list;
    size_t replaced; /* hosts that are named instead of the usual ones */
};

static bool has_rule(const struct policy_rules *rules, const char *text)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (strcmp(rules->list[i].text, text) == 0)
            return true;
    }
    return false;
}

static int add_host(const struct preset_search *search, const char *host, struct fault *fault)
{
    if (has_rule(&search->policy->rules[search->list], host))
        return 0;
    return policy_add(search->policy, search->list, host, fault);
}

static int add_hosts(const struct preset_search *search, const char *const *hosts,
                     struct fault *fault)
{
    int r = 0;
    for (; r == 0 && *hosts != NULL; hosts++)
        r = add_host(search, *hosts, fault);
    return r;
}

/* Adds the host of each http and https URL; *count, unless it is NULL, grows by those added. */
static int add_urls(const struct preset_search *search, const char *text, size_t length,
                    size_t *count)
{
    const char *end = text + length;
    for (const char *at = text; at < end; at++) {
        size_t scheme = strncasecmp(at, "http://", 7) == 0 ? 7 : 0;
        if (strncasecmp(at, "https://", 8) == 0)
            scheme = 8;
        if (scheme == 0)
            continue;
        const char *host = at + scheme;
        size_t size = strcspn(host, "/?# \t\r\n\"',");
        at = host + size;
        const char *login = memrchr(host, '@', size);
        if (login != NULL) {
            size -= (size_t)(login + 1 - host);
            host = login + 1;
        }
        char rule[HOST_TEXT_MAX];
        if (size >= sizeof(rule) || at > end || memchr(host, '*', size) != NULL)
            continue;
        snprintf(rule, sizeof(rule), "%.*s", (int)size, host);
        struct fault fault = {0};
        int r = add_host(search, rule, &fault);
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            log_note("%s: %s", search->preset->name, fault.text);
        if (count != NULL)
            *count += r == 0;
    }
    return 0;
}

static int add_value(struct preset_search *search, const char *key, size_t key_length,
                     const char *value, size_t length)
{
    if (is_one_of(search->preset->replacing, key, key_length))
        return add_urls(search, value, length, &search->replaced);
    if (is_one_of(search->preset->adding, key, key_length))
        return add_urls(search, value, length, NULL);
    return 0;
}

/* Lines "KEY = VALUE", "KEY: VALUE" and "KEY VALUE". One that begins with a space goes on with the last. */
static int search_text(struct preset_search *search, const char *text)
{
    const char *key = "";
    size_t key_length = 0;
    int r = 0;
    for (const char *line = text; r == 0 && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *value = line;
        if (line[0] != ' ' && line[0] != '\t') {
            key = line;
            key_length = strcspn(line, " \t=\n");
            if (key_length > 0 && key[key_length - 1] == ':')
                key_length--;
            value = line + key_length;
        }
        if (line[strspn(line, " \t")] != '#' && line[strspn(line, " \t")] != ';')
            r = add_value(search, key, key_length, value, length - (size_t)(value - line));
        line += length + (line[length] == '\n');
    }
    return r;
}

/* A preset_visit. One that is missing, or that this user may not read, has no hosts. */
static int search_file(void *data, const char *path)
{
    struct preset_search *search = data;
    OWNED(buffer_release) struct buffer text = BUFFER(2 * CONFIGURATION_MAX);
    struct fault ignored = {0};
    int r = small_file_read(path, "settings", CONFIGURATION_MAX, &text, &ignored);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    const char *string = buffer_string(&text);
    return string != NULL ? search_text(search, string) : -ENOMEM;
}

static int visit_matches(const char *pattern, preset_visit *visit, void *data)
{
    glob_t found = {0};
    int r = glob(pattern, GLOB_NOMAGIC, NULL, &found) == GLOB_NOSPACE ? -ENOMEM : 0;
    for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
        r = visit(data, found.gl_pathv[i]);
    globfree(&found);
    return r;
}

/* Below the user's home, or with '+' the directory of configurations. */
static int visit_own(const char *pattern, preset_visit *visit, void *data)
{
    OWNED_MEMORY char *directory = NULL;
    OWNED_MEMORY char *path = NULL;
    if (pattern[0] == '+' && xdg_directory("XDG_CONFIG_HOME", ".config", &directory) < 0)
        return 0;
    const char *parent = pattern[0] == '+' ? directory : xdg_home();
    if (parent == NULL)
        return 0;
    if (asprintf(&path, "%s%s", parent, pattern + 1) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    return visit(data, path);
}

static int visit_files(const char *pattern, preset_visit *visit, void *data)
{
    if (pattern[0] == '/')
        return visit_matches(pattern, visit, data);
    if (pattern[0] != '$')
        return visit_own(pattern, visit, data);
    const char *named = getenv(pattern + 1);
    return named != NULL ? visit(data, named) : 0;
}

static int visit_preset(const struct preset *preset, preset_visit *visit, void *data)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < WORDS_MAX && preset->files[i] != NULL; i++)
        r = visit_files(preset->files[i], visit, data);
    return r;
}

static int search_settings(struct preset_search *search)
{
    int r = 0;
    for (char **pair = environ; r == 0 && *pair != NULL; pair++) {
        size_t length = strcspn(*pair, "=");
        r = add_value(search, *pair, length, *pair + length, strlen(*pair + length));
    }
    return r == 0 ? visit_preset(search->preset, search_file, search) : r;
}

static const struct preset *find_preset(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(presets); i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}

int network_preset_add(struct policy *policy, enum rule_list list, const char *name,
                       struct fault *fault)
{
    struct preset_search search = {find_preset(name), policy, list, 0};
    if (search.preset == NULL)
        return fault_set(fault, EINVAL,
                         "\"%s\" is no group of hosts: write @python, @npm, @debian, @github or "
                         "@models",
                         name);
    int r = add_hosts(&search, search.preset->always, fault);
    if (r == 0 && search_settings(&search) < 0)
        return fault_set(fault, ENOMEM, "reading the hosts of %s", name);
    if (r == 0 && search.replaced == 0)
        r = add_hosts(&search, search.preset->otherwise, fault);
    return r;
}

/* No other rule has an '@'. */
unsigned network_presets_in(const char *rules)
{
    unsigned presets_in = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(presets); i++)
        if (strstr(rules, presets[i].name) != NULL)
            presets_in |= 1U << i;
    return presets_in;
}

int network_presets_visit(unsigned chosen, preset_visit *visit, void *data)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(presets); i++)
        if ((chosen & 1U << i) != 0)
            r = visit_preset(&presets[i], visit, data);
    return r;
}
