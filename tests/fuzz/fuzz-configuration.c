/*
 * A configuration file. One that is accepted is a JSON object with keys that exist, each once, and
 * leaves every limit within its range; one that is refused is refused with its name.
 */
#include "interpreter/base/bounds.h"
#include "interpreter/settings/configuration.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/limits-check.h"

#include <string.h>

static size_t count_key(const struct json_value *object, const char *key)
{
    size_t count = 0;
    for (const struct json_value *member = object->first; member != NULL; member = member->next)
        count += json_key_is(member, key) ? 1 : 0;
    return count;
}

static void check_keys(const struct json_value *root)
{
    size_t known = 0;
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; option->name != NULL; option++) {
            size_t count = option->setting != NULL ? count_key(root, option->setting->key) : 0;
            FUZZ_CHECK(count <= 1);
            known += count;
        }
    }
    FUZZ_CHECK(root->type == JSON_OBJECT && known == root->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file(data, size);
    setenv("FUZZ_ONE", "1", 1); /* something to pass through */
    setenv("FUZZ_TWO", "a=b", 1);
    OWNED(settings_release) struct settings settings = settings_default();
    settings.configuration = strdup(fuzz_file_path());
    FUZZ_CHECK(settings.configuration != NULL);
    struct fault fault = {0};
    int r = configuration_read(&settings, &fault);
    fuzz_check_fault(r, &fault);
    limits_check(&settings);
    FUZZ_CHECK((settings.configuration_read != NULL) == (r == 0));
    if (r < 0) {
        /* Others than EINVAL: "env_file" names one that cannot be read. */
        FUZZ_CHECK(strstr(fault.text, fuzz_file_path()) != NULL);
        FUZZ_CHECK(r == -EINVAL || strstr(fault.text, "\"env_file\"") != NULL);
        return 0;
    }
    FUZZ_CHECK(size <= CONFIGURATION_MAX);
    OWNED(json_release) struct json *json = NULL;
    FUZZ_CHECK(json_parse((const char *)data, size, &json, NULL) == 0);
    check_keys(json_root(json));
    return 0;
}
