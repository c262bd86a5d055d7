#include "interpreter/settings/setting_text.h"

#include "interpreter/languages/language.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define THOUSAND 1000.0

/* Before each further value of a list. */
static int separate(struct buffer *text, size_t start)
{
    return text->length > start ? buffer_append_text(text, ", ") : 0;
}

/* "512M" where it is a whole number of such units, else the bytes. */
static int write_size(uint64_t bytes, struct buffer *text)
{
    static const char letters[] = "TGMK";
    for (unsigned i = 0; i < strlen(letters); i++) {
        unsigned shift = (4 - i) * 10;
        if (bytes >> shift > 0 && (bytes >> shift) << shift == bytes)
            return buffer_format(text, "%" PRIu64 "%c", bytes >> shift, letters[i]);
    }
    return buffer_format(text, "%" PRIu64, bytes);
}

/* A login in a URL is a secret. */
static int write_text(const char *value, struct buffer *text)
{
    if (value == NULL)
        return 0;
    const char *scheme = strstr(value, "://");
    const char *host = scheme != NULL ? scheme + strlen("://") : value;
    const char *at = strrchr(host, '@');
    if (at == NULL)
        return buffer_append_text(text, value);
    return buffer_format(text, "%.*s...%s", (int)(host - value), value, at);
}

static int write_names(const struct environment *environment, enum environment_source source,
                       struct buffer *text)
{
    size_t start = text->length;
    int r = 0;
    for (size_t i = 0; r == 0 && i < environment->count; i++) {
        const struct variable *variable = &environment->variables[i];
        if (variable->source != source)
            continue;
        r = separate(text, start);
        if (r == 0 && variable->language != NULL)
            r = buffer_format(text, "%s:", variable->language->name);
        if (r == 0)
            r = buffer_append(text, variable->text, variable->name_length);
    }
    return r;
}

static int write_files(const struct settings *settings, struct buffer *text)
{
    size_t start = text->length;
    int r = 0;
    for (size_t i = 0; r == 0 && i < settings->environment_file_count; i++) {
        r = separate(text, start);
        if (r == 0)
            r = buffer_append_text(text, settings->environment_files[i]);
    }
    return r;
}

static int write_rules(const struct policy_rules *rules, struct buffer *text)
{
    size_t start = text->length;
    int r = 0;
    for (size_t i = 0; r == 0 && i < rules->count; i++) {
        r = separate(text, start);
        if (r == 0)
            r = buffer_append_text(text, rules->list[i].text);
    }
    return r;
}

static int write_folders(const struct folders *folders, struct buffer *text)
{
    size_t start = text->length;
    int r = 0;
    for (size_t i = 0; r == 0 && i < folders->count; i++) {
        const struct folder *folder = &folders->list[i];
        r = separate(text, start);
        if (r == 0)
            r = buffer_format(text, "%s:%s", folder->path, folder_mode_name(folder->mode));
        if (r == 0 && strcmp(folder->path, folder->place) != 0)
            r = buffer_format(text, "@%s", folder->place);
    }
    return r;
}

int setting_write(const struct settings *settings, const struct setting *setting,
                  struct buffer *text)
{
    const void *member = (const char *)settings + setting->offset;
    switch (setting->kind) {
    case SETTING_SIZE:
        return write_size(*(const uint64_t *)member, text);
    case SETTING_COUNT:
        return buffer_format(text, "%" PRIu64, *(const uint64_t *)member);
    case SETTING_SECONDS:
        return buffer_format(text, "%gs", (double)*(const int64_t *)member / THOUSAND);
    case SETTING_PROCESSORS:
        return buffer_format(text, "%g", *(const uint32_t *)member / THOUSAND);
    case SETTING_CHOICE:
        return buffer_append_text(text, setting->choices[*(const unsigned *)member]);
    case SETTING_FLAG:
        return buffer_append_text(text, *(const bool *)member ? "yes" : "no");
    case SETTING_PATH:
    case SETTING_PLACE:
    case SETTING_TEXT:
    case SETTING_MODULES:
    case SETTING_IMAGE:
        return write_text(*(const char *const *)member, text);
    case SETTING_NAMES:
        return write_names(&settings->environment, ENVIRONMENT_PASSED, text);
    case SETTING_ENVIRONMENT:
        return write_names(&settings->environment, ENVIRONMENT_SET, text);
    case SETTING_ENVIRONMENT_FILE:
        return write_files(settings, text);
    case SETTING_HOSTS:
        return write_rules(&settings->network.rules[setting->low], text);
    case SETTING_MOUNT:
        break;
    }
    return write_folders(&settings->folders, text);
}

int setting_write_origin(const struct settings *settings, const struct option *option,
                         struct buffer *text)
{
    unsigned origins = origins_of(&settings->origins, option);
    if (origins == ORIGIN_DEFAULT)
        return buffer_append_text(text, "default");
    int r = 0;
    const char *separator = "";
    if ((origins & ORIGIN_CONFIGURATION) != 0) {
        r = buffer_format(text, "\"%s\" in %s", option->setting->key, settings->configuration_read);
        separator = ", ";
    }
    if (r == 0 && (origins & ORIGIN_VARIABLE) != 0) {
        r = buffer_format(text, "%s%s", separator, option->setting->variable);
        separator = ", ";
    }
    if (r == 0 && (origins & ORIGIN_OPTION) != 0)
        r = buffer_format(text, "%s%s", separator, option->name);
    return r;
}

/* Whether the text has that option in it as a whole word. */
static bool names_option(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length)
        if (!isalnum((unsigned char)at[length]) && at[length] != '-')
            return true;
    return false;
}

void setting_blame(const struct settings *settings, struct fault *fault)
{
    OWNED(buffer_release) struct buffer blame = BUFFER(FAULT_TEXT_MAX);
    for (size_t i = 0; i < settings->origins.count; i++) {
        const struct setting_origin *known = &settings->origins.list[i];
        if ((known->origins & ORIGIN_OPTION) != 0 ||
            !names_option(fault->text, known->option->name))
            continue;
        buffer_format(&blame, "%s%s is set by ", blame.length == 0 ? " (" : "; ",
                      known->option->name);
        setting_write_origin(settings, known->option, &blame);
    }
    const char *told = blame.length > 0 ? buffer_string(&blame) : NULL;
    size_t length = strlen(fault->text);
    if (told != NULL)
        snprintf(fault->text + length, sizeof(fault->text) - length, "%s)", told);
}
