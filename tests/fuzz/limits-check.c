#include "tests/fuzz/limits-check.h"

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
    case SETTING_IMAGE:
    case SETTING_MODULES:
    case SETTING_NAMES:
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
    for (size_t i = 0; i < settings->environment_count; i++) {
        const char *equals = strchr(settings->environment[i], '=');
        FUZZ_CHECK(equals != NULL && equals != settings->environment[i]);
    }
}
