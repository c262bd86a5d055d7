#include "sandbox/network/broker/aliases.h"

#include <string.h>

bool aliases_add(struct aliases *aliases, const char *text)
{
    char name[HOST_NAME_SIZE];
    if (!host_name_read(text, strlen(text), name))
        return false;
    for (size_t i = 0; i < aliases->count; i++) {
        if (strcmp(aliases->list[i], name) == 0)
            return true;
    }
    if (aliases->count == NAME_ALIASES_MAX)
        return false;
    memcpy(aliases->list[aliases->count++], name, sizeof(name));
    return true;
}

enum refusal aliases_judge(const struct aliases *aliases, const struct policy *policy,
                           struct policy_ports *denied)
{
    enum refusal refusal = REFUSAL_NONE;
    for (size_t i = 0; i < aliases->count && refusal == REFUSAL_NONE; i++)
        refusal = policy_judge_alias(policy, aliases->list[i], denied).refusal;
    return refusal;
}
