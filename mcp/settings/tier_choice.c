#include "mcp/settings/tier_choice.h"

#include "mcp/base/log.h"
#include "sandbox/host_probe.h"

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
    settings->engine.tier = host.tier;
    log_note("Sandboxes are of tier %s, weaker than on other hosts (see SECURITY.md): %s",
             tier_name(host.tier),
             host.remedy.cause[0] != '\0' ? host.remedy.cause : host.fault.text);
}
