#include "cli/image_process.h"

#include "cli/command.h"
#include "interpreter/base/helpers.h"
#include "interpreter/base/log.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/image_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum tier weakest_tier(void)
{
    const char *allowed = getenv("SANDBOX_WEAKER");
    for (enum tier tier = TIER_P; allowed != NULL && tier < TIER_COUNT; tier++) {
        if (strcmp(allowed, tier_name(tier)) == 0)
            return tier;
    }
    return TIER_F;
}

int image_program_try_host(struct host_finding *ret_host)
{
    struct fault fault = {0};
    int r = host_probe(weakest_tier(), ret_host, &fault);
    if (r == 0 && ret_host->can_jail && ret_host->tier != TIER_F)
        setenv(IMAGE_TIER_VARIABLE, tier_name(ret_host->tier), true);
    return r;
}

int image_program_execute(const char *word, int argc, char **argv)
{
    OWNED_MEMORY char *path = NULL;
    struct host_finding host;
    if (weakest_tier() != TIER_F && getenv(IMAGE_TIER_VARIABLE) == NULL)
        image_program_try_host(&host);
    int r = helpers_find(IMAGE_PROGRAM, IMAGE_FOLDER, &path);
    if (r < 0) {
        log_note("cannot find the program " IMAGE_PROGRAM
                 ", needed to make images: %s. It belongs into "
                 "%s: install code-sandbox-mcp again",
                 strerror(-r), LIBEXEC_DIRECTORY);
        return EXIT_FAILED;
    }
    OWNED_MEMORY char **arguments = calloc((size_t)argc + 3, sizeof(*arguments));
    if (arguments == NULL) {
        log_note("starting %s: %s", path, strerror(errno));
        return EXIT_FAILED;
    }
    arguments[0] = path;
    arguments[1] = (char *)word;
    memcpy(arguments + 2, argv, (size_t)argc * sizeof(*argv));
    execv(path, arguments);
    log_note("starting %s: %s", path, strerror(errno));
    return EXIT_FAILED;
}
