#include "sandbox/network/refusal.h"

const char *refusal_name(enum refusal refusal)
{
    static const char *const names[REFUSAL_COUNT] = {
        [REFUSAL_NONE] = "none",
        [REFUSAL_NOT_LISTED] = "not_listed",
        [REFUSAL_DENIED] = "denied",
        [REFUSAL_PRIVATE] = "private",
        [REFUSAL_HOST_ITSELF] = "host_itself",
        [REFUSAL_METADATA] = "metadata",
        [REFUSAL_NAME_MISMATCH] = "name_mismatch",
        [REFUSAL_PROXY] = "proxy",
        [REFUSAL_LIMIT] = "limit",
        [REFUSAL_PROTOCOL] = "protocol",
        [REFUSAL_PORT_TAKEN] = "port_taken",
    };
    return names[refusal];
}
