#include "interpreter/settings/fleet_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define NAME_MAX_LENGTH 32

void fleet_settings_release(struct fleet_settings *fleet)
{
    free(fleet->url);
    free(fleet->pool);
    free(fleet->credentials);
    free(fleet->authority);
    *fleet = (struct fleet_settings){0};
}

int fleet_settings_check(const struct fleet_settings *fleet, struct fault *fault)
{
    const char *pool = fleet->pool;
    size_t length = pool != NULL ? strlen(pool) : 1;
    if (length == 0 || length > NAME_MAX_LENGTH ||
        (pool != NULL && strspn(pool, NAME_CHARACTERS) != length))
        return fault_set(fault, EINVAL,
                         "--pool must be 1 to %d letters, digits, - and _, not \"%.40s\"",
                         NAME_MAX_LENGTH, pool);
    return 0;
}
