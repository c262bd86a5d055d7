#include "tests/fuzz/limits-check.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static size_t count_choices(const struct setting *setting)
{
    size_t count = 0;
    while (setting->choices[count] != NULL)
        count++;
    return count;
}

/* The number that the setting's member holds. */
static uint64_t number_of(const struct settings *settings, const struct setting *setting)
{
    const char *member = (const char *)settings + setting->offset;
    uint64_t wide = 0;
    switch (setting->kind) {
    case SETTING_PROCESSORS:
    case SETTING_CHOICE:
        wide = *(const uint32_t *)(const void *)member;
        break;
    case SETTING_FLAG:
        wide = *(const unsigned char *)member;
        break;
    case SETTING_SIZE:
    case SETTING_COUNT:
    case SETTING_SECONDS:
        memcpy(&wide, member, sizeof(wide));
        break;
    case SETTING_PATH:
    case SETTING_PLACE:
    case SETTING_TEXT:
    case SETTING_IMAGE:
    case SETTING_MODULES:
    case SETTING_NAMES:
    case SETTING_ENVIRONMENT:
    case SETTING_ENVIRONMENT_FILE:
    case SETTING_HOSTS:
    case SETTING_MOUNT:
        break;
    }
    return wide;
}

static void check_setting(const struct settings *settings, const struct settings *defaults,
                          const struct setting *setting)
{
    uint64_t number = number_of(settings, setting);
    if (number == number_of(defaults, setting))
        return;
    if (setting->kind == SETTING_CHOICE)
        FUZZ_CHECK(number < count_choices(setting));
    else if (setting->kind == SETTING_FLAG)
        FUZZ_CHECK(number <= 1);
    else
        FUZZ_CHECK(number >= setting->low && number <= setting->high);
}

void limits_check(const struct settings *settings)
{
    OWNED(settings_release) struct settings defaults = settings_default();
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; option->name != NULL; option++) {
            if (option->setting != NULL)
                check_setting(settings, &defaults, option->setting);
        }
    }
    environment_check(&settings->environment);
}

void environment_check(const struct environment *environment)
{
    size_t bytes = 0;
    FUZZ_CHECK(environment->count <= ENVIRONMENT_COUNT_MAX);
    for (size_t i = 0; i < environment->count; i++) {
        const struct variable *variable = &environment->variables[i];
        size_t length = strlen(variable->text);
        FUZZ_CHECK(variable->name_length > 0 && variable->name_length <= ENVIRONMENT_NAME_MAX);
        FUZZ_CHECK(variable->name_length == strcspn(variable->text, "="));
        FUZZ_CHECK(length <= ENVIRONMENT_TEXT_MAX);
        bytes += length;
    }
    FUZZ_CHECK(bytes == environment->bytes && bytes <= ENVIRONMENT_BYTES_MAX);
}
