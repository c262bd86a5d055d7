#include "interpreter/settings/tier_choice.h"

#include "images/store/store.h"
#include "interpreter/base/log.h"
#include "sandbox/base/owned.h"

#include <stdio.h>

int tier_set(struct settings *settings, const struct host_finding *host, struct fault *fault)
{
    if (host->tier >= TIER_C && settings->roots == NULL) {
        OWNED_MEMORY char *store = NULL;
        int r = store_path(&store, fault);
        if (r < 0)
            return r;
        if (asprintf(&settings->roots, "%s/roots", store) < 0) {
            settings->roots = NULL;
            return fault_set(fault, ENOMEM, "out of memory for the roots of sandboxes");
        }
    }
    settings->engine.tier = host->tier;
    settings->lacks_signals = host->tier == TIER_L && host->landlock < LANDLOCK_SCOPES;
    settings->engine.roots = settings->roots;
    return 0;
}

void tier_choose(struct settings *settings)
{
    struct host_finding host;
    struct fault fault = {0};
    if (settings->weakest == TIER_F)
        return;
    int r = host_probe((enum tier)settings->weakest, &host, &fault);
    if (r < 0)
        log_note("%s", fault.text);
    if (r < 0 || !host.can_jail || host.tier == TIER_F)
        return;
    if (tier_set(settings, &host, &fault) < 0) {
        log_note("%s", fault.text);
        return;
    }
    log_note("Sandboxes are of tier %s, weaker than on other hosts (see SECURITY.md): %s",
             tier_name(host.tier),
             host.remedy.cause[0] != '\0' ? host.remedy.cause : host.fault.text);
}
