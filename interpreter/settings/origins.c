#include "interpreter/settings/origins.h"

#include <errno.h>
#include <stdlib.h>

void origins_release(struct origins *origins)
{
    free(origins->list);
    *origins = (struct origins){0};
}

static struct setting_origin *find(const struct origins *origins, const struct option *option)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->list[i].option == option)
            return &origins->list[i];
    return NULL;
}

int origins_note(struct origins *origins, const struct option *option, enum origin origin,
                 bool adds_up, struct fault *fault)
{
    struct setting_origin *known = find(origins, option);
    if (known == NULL) {
        struct setting_origin *grown =
            reallocarray(origins->list, origins->count + 1, sizeof(*origins->list));
        if (grown == NULL)
            return fault_set(fault, ENOMEM, "reading %s: %m", option->name);
        origins->list = grown;
        known = &grown[origins->count++];
        *known = (struct setting_origin){.option = option};
    }
    known->origins = (adds_up ? known->origins : 0) | (unsigned)origin;
    return 0;
}

unsigned origins_of(const struct origins *origins, const struct option *option)
{
    const struct setting_origin *known = find(origins, option);
    return known != NULL ? known->origins : ORIGIN_DEFAULT;
}
