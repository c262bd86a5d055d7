#include "mcp/settings/network_settings.h"

#include "sandbox/base/owned.h"

#include <string.h>

int network_settings_add(struct policy *policy, enum rule_list list, const char *what,
                         const char *value, struct fault *fault)
{
    OWNED_MEMORY char *copy = strdup(value);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "reading %s: %m", what);
    char *rest = copy;
    for (char *rule; (rule = strsep(&rest, ",")) != NULL;) {
        rule += strspn(rule, " ");
        size_t length = strlen(rule);
        while (length > 0 && rule[length - 1] == ' ')
            rule[--length] = '\0';
        int r = rule[0] != '\0' ? policy_add(policy, list, rule, fault)
                                : fault_set(fault, EINVAL, "between two commas there is no host");
        if (r < 0) {
            fault_prefix(fault, "%s", what);
            return r;
        }
    }
    return 0;
}

int network_settings_complete(struct policy *policy, unsigned said, struct fault *fault)
{
    bool has_rules = policy->rules[RULES_ALLOW].count + policy->rules[RULES_MAP].count > 0;
    if (said == NETWORK_UNSAID) {
        policy->mode = has_rules ? NETWORK_ALLOW : NETWORK_OFF;
        return 0;
    }
    policy->mode = (enum network_mode)said;
    if (policy->mode == NETWORK_OFF && has_rules)
        return fault_set(
            fault, EINVAL,
            "the network is off (--network, SANDBOX_NETWORK or \"network\" in the "
            "configuration), but there are hosts to be reached (--allow-host, --map-host): "
            "say --network allow, or name no hosts");
    if (policy->mode == NETWORK_ALLOW && !has_rules)
        return fault_set(fault, EINVAL,
                         "--network allow reaches the hosts that are listed, and none is: add "
                         "--allow-host HOST, or say --network on for all public hosts");
    return 0;
}
