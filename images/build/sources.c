#include "images/build/sources.h"

#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WHITE " \t\r\n"

/* The fields to copy: their names in a .sources file and in the [...] of a .list file. */
static const struct {
    const char *field, *option;
} kept_options[] = {
    {"Signed-By", "signed-by"},
    {"Trusted", "trusted"},
    {"Check-Valid-Until", "check-valid-until"},
    {"Valid-Until-Min", "valid-until-min"},
    {"Valid-Until-Max", "valid-until-max"},
    {"Check-Date", "check-date"},
    {"Date-Max-Future", "date-max-future"},
};

/* Names of Debian releases, from the oldest still in use. */
static const char *const releases[] = {"buster",    "bullseye", "bookworm", "trixie",
                                       "forky",     "duke",     "sid",      "oldoldstable",
                                       "oldstable", "stable",   "testing",  "unstable"};

void source_list_release(struct source_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].uri);
        free(list->items[i].suite);
        free(list->items[i].options);
    }
    free(list->items);
    *list = (struct source_list){0};
}

/* Removes trailing slashes; a URI of nothing else is invalid. */
static int source_list_add(struct source_list *list, const char *uri, const char *suite,
                           const char *options)
{
    size_t length = strlen(uri);
    while (length > 0 && uri[length - 1] == '/')
        length--;
    if (length == 0)
        return 0;
    struct source *grown = reallocarray(list->items, list->count + 1, sizeof(*grown));
    if (grown == NULL)
        return -ENOMEM;
    list->items = grown;
    struct source source = {strndup(uri, length), strdup(suite), strdup(options)};
    list->items[list->count++] = source;
    return source.uri && source.suite && source.options ? 0 : -ENOMEM;
}

static bool words_contain(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words + strspn(words, WHITE); *at != '\0'; at += strspn(at, WHITE)) {
        size_t size = strcspn(at, WHITE);
        if (size == length && strncmp(at, word, length) == 0)
            return true;
        at += size;
    }
    return false;
}

/* A stanza of a .sources file; the texts are owned. */
struct source_stanza {
    char *types, *uris, *suites, *components, *enabled;
    struct buffer options;
};

static void stanza_release(struct source_stanza *stanza)
{
    free(stanza->types);
    free(stanza->uris);
    free(stanza->suites);
    free(stanza->components);
    free(stanza->enabled);
    buffer_release(&stanza->options);
}

static int source_list_add_words(struct source_list *list, const char *uris, const char *suites,
                                 const char *options)
{
    OWNED_MEMORY char *uri_words = strdup(uris);
    if (uri_words == NULL)
        return -ENOMEM;
    char *uri_state;
    for (char *uri = strtok_r(uri_words, WHITE, &uri_state); uri != NULL;
         uri = strtok_r(NULL, WHITE, &uri_state)) {
        OWNED_MEMORY char *suite_words = strdup(suites);
        if (suite_words == NULL)
            return -ENOMEM;
        char *suite_state;
        for (char *suite = strtok_r(suite_words, WHITE, &suite_state); suite != NULL;
             suite = strtok_r(NULL, WHITE, &suite_state))
            if (source_list_add(list, uri, suite, options) < 0)
                return -ENOMEM;
    }
    return 0;
}

static int stanza_finish(struct source_list *list, struct source_stanza *stanza)
{
    const char *options = buffer_string(&stanza->options);
    bool offers = stanza->types != NULL && words_contain(stanza->types, "deb") &&
                  stanza->components != NULL && words_contain(stanza->components, "main") &&
                  stanza->uris != NULL && stanza->suites != NULL &&
                  (stanza->enabled == NULL || !words_contain(stanza->enabled, "no"));
    int r = 0;
    if (offers)
        r = source_list_add_words(list, stanza->uris, stanza->suites,
                                  options != NULL ? options : "");
    stanza_release(stanza);
    *stanza = (struct source_stanza){.options = BUFFER(SOURCES_TEXT_MAX)};
    return r;
}

/* Stores one field. `value` includes continuation lines, with newlines. */
static int stanza_take(struct source_stanza *stanza, const char *name, size_t name_length,
                       const char *value, size_t value_length)
{
    const struct {
        const char *name;
        char **place;
    } texts[] = {
        {"Types", &stanza->types},     {"URIs", &stanza->uris},
        {"Suites", &stanza->suites},   {"Components", &stanza->components},
        {"Enabled", &stanza->enabled},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        if (strlen(texts[i].name) == name_length &&
            strncasecmp(texts[i].name, name, name_length) == 0) {
            free(*texts[i].place);
            *texts[i].place = strndup(value, value_length);
            return *texts[i].place != NULL ? 0 : -ENOMEM;
        }
    for (size_t i = 0; i < ARRAY_LENGTH(kept_options); i++)
        if (strlen(kept_options[i].field) == name_length &&
            strncasecmp(kept_options[i].field, name, name_length) == 0)
            return buffer_format(&stanza->options, "%s:%.*s\n", kept_options[i].field,
                                 (int)value_length, value);
    return 0;
}

/* The length of a field's value: its line, continuation lines, and comments between them. */
static size_t value_measure(const char *value)
{
    size_t length = strcspn(value, "\n");
    while (value[length] == '\n' && (value[length + 1] == ' ' || value[length + 1] == '\t'))
        length += 1 + strcspn(value + length + 1, "\n");
    return length;
}

int sources_parse_deb822(struct source_list *list, const char *text)
{
    OWNED(stanza_release) struct source_stanza stanza = {.options = BUFFER(SOURCES_TEXT_MAX)};
    while (*text != '\0') {
        size_t line = strcspn(text, "\n");
        size_t name = strcspn(text, ":\n");
        int r = 0;
        if (strspn(text, " \t\r") >= line) {
            r = stanza_finish(list, &stanza);
        } else if (text[0] != '#' && text[name] == ':') {
            line = name + 1 + value_measure(text + name + 1);
            r = stanza_take(&stanza, text, name, text + name + 1, line - name - 1);
        }
        if (r < 0)
            return -ENOMEM;
        text += line + (text[line] == '\n');
    }
    return stanza_finish(list, &stanza);
}

/* Turns "signed-by=/x trusted=yes" into deb822 fields. */
static int options_convert(char *options, struct buffer *fields)
{
    char *state;
    for (char *option = strtok_r(options, WHITE, &state); option != NULL;
         option = strtok_r(NULL, WHITE, &state)) {
        char *value = strchr(option, '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        for (size_t i = 0; i < ARRAY_LENGTH(kept_options); i++)
            if (strcmp(kept_options[i].option, option) == 0 &&
                buffer_format(fields, "%s: %s\n", kept_options[i].field, value) < 0)
                return -ENOMEM;
    }
    return 0;
}

/* One line: "deb [OPTIONS] URI SUITE COMPONENT...". */
static int line_take(struct source_list *list, char *line)
{
    OWNED(buffer_release) struct buffer fields = BUFFER(SOURCES_TEXT_MAX);
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, WHITE);
    if (strncmp(line, "deb", 3) != 0 || strchr(WHITE, line[3]) == NULL)
        return 0;
    line += 3 + strspn(line + 3, WHITE);
    if (*line == '[') {
        char *end = strchr(line, ']');
        if (end == NULL)
            return 0;
        *end = '\0';
        if (options_convert(line + 1, &fields) < 0)
            return -ENOMEM;
        line = end + 1;
    }
    char *state;
    const char *uri = strtok_r(line, WHITE, &state);
    const char *suite = strtok_r(NULL, WHITE, &state);
    if (uri == NULL || suite == NULL || !words_contain(state, "main"))
        return 0;
    const char *options = buffer_string(&fields);
    return source_list_add(list, uri, suite, options != NULL ? options : "");
}

int sources_parse_lines(struct source_list *list, const char *text)
{
    OWNED_MEMORY char *copy = strdup(text);
    if (copy == NULL)
        return -ENOMEM;
    char *state;
    for (char *line = strtok_r(copy, "\n", &state); line != NULL;
         line = strtok_r(NULL, "\n", &state))
        if (line_take(list, line) < 0)
            return -ENOMEM;
    return 0;
}

/* Whether the suite is a release of Debian, with this ending. */
static bool suite_is(const char *suite, const char *ending)
{
    for (size_t i = 0; i < ARRAY_LENGTH(releases); i++) {
        size_t length = strlen(releases[i]);
        if (strncmp(suite, releases[i], length) == 0 && strcmp(suite + length, ending) == 0)
            return true;
    }
    return false;
}

/* Whether apt has a signed Release file of origin Debian from this source. */
static bool origin_is_debian(const struct source *source, const char *origins)
{
    OWNED_MEMORY char *with_slash = NULL;
    if (asprintf(&with_slash, "Debian %s/ %s\n", source->uri, source->suite) < 0)
        with_slash = NULL;
    return with_slash != NULL && strstr(origins, with_slash) != NULL;
}

/* ".../debian", ".../debian-security", or a list of mirrors of such a name. */
static bool name_is_debian(const struct source *source)
{
    const char *slash = strrchr(source->uri, '/');
    const char *last = slash != NULL ? slash + 1 : source->uri;
    size_t length = strlen(last);
    if (length > 5 && strcmp(last + length - 5, ".list") == 0)
        length -= 5;
    return (length == 6 && strncmp(last, "debian", 6) == 0) ||
           (length == 15 && strncmp(last, "debian-security", 15) == 0) ||
           strstr(source->options, "debian-archive") != NULL;
}

struct debian_archive sources_choose(const struct source_list *list, const char *origins)
{
    struct debian_archive archive = {0};
    for (size_t i = 0; i < list->count; i++) {
        const struct source *source = &list->items[i];
        if (!origin_is_debian(source, origins) && !name_is_debian(source))
            continue;
        if (archive.main == NULL && suite_is(source->suite, ""))
            archive.main = source;
        if (archive.updates == NULL && suite_is(source->suite, "-updates"))
            archive.updates = source;
        if (archive.security == NULL &&
            (suite_is(source->suite, "-security") || suite_is(source->suite, "/updates")))
            archive.security = source;
    }
    return archive;
}

static int stanza_write(const struct source *source, const char *suite, const char *ending,
                        const char *architecture, struct buffer *text)
{
    if (source == NULL)
        return 0;
    return buffer_format(text,
                         "Types: deb\nURIs: %s\nSuites: %s%s\nComponents: main\n"
                         "Architectures: %s\nTargets: Packages\nLanguages: none\n%s\n",
                         source->uri, suite, ending, architecture, source->options);
}

int sources_write(const struct debian_archive *archive, const char *suite, const char *architecture,
                  struct buffer *text)
{
    int r = stanza_write(archive->main, suite, "", architecture, text);
    if (r == 0)
        r = stanza_write(archive->updates, suite, "-updates", architecture, text);
    if (r == 0)
        r = stanza_write(archive->security, suite, "-security", architecture, text);
    return r;
}
