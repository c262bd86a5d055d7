#include "mcp/base/version.h"
#include "sandbox/base/owned.h"

static const char *const names[] = {
    [VERSION_NONE] = "none",
    [VERSION_2024_11_05] = "2024-11-05",
    [VERSION_2025_03_26] = "2025-03-26",
    [VERSION_2025_06_18] = "2025-06-18",
    [VERSION_2025_11_25] = "2025-11-25",
    [VERSION_2026_07_28] = "2026-07-28",
};

const char *version_name(enum version version)
{
    return names[version];
}

enum version version_find(const struct json_value *name)
{
    for (enum version version = VERSION_2024_11_05; version <= VERSION_2026_07_28; version++) {
        if (json_is(name, names[version]))
            return version;
    }
    return VERSION_NONE;
}
