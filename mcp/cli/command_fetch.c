#include "mcp/base/log.h"
#include "mcp/cli/command.h"
#include "mcp/cli/image_program.h"
#include "sandbox/host_probe.h"
#include "sandbox/jail/image_plan.h"

#include <stdlib.h>
#include <string.h>

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return argc == 0;
}

/* The weakest tier that the operator allows, by the variable: there are no settings here. */
static enum tier weakest_tier(void)
{
    const char *allowed = getenv("SANDBOX_WEAKER");
    for (enum tier tier = TIER_P; allowed != NULL && tier < TIER_COUNT; tier++) {
        if (strcmp(allowed, tier_name(tier)) == 0)
            return tier;
    }
    return TIER_F;
}

/*
 * Before hundreds of megabytes are downloaded for a host on which nothing can run. Where it needs
 * tier C, and may have it, images are unpacked by that.
 */
static void warn_of_host(void)
{
    struct host_finding host;
    struct fault fault = {0};
    if (host_probe(weakest_tier(), &host, &fault) < 0)
        return;
    if (host.can_jail && host.tier == TIER_C)
        setenv(IMAGE_TIER_VARIABLE, tier_name(TIER_C), true);
    if (host.can_jail)
        return;
    const struct remedy *remedy = &host.remedy;
    log_note("Snippets will not run on this host: %s",
             remedy->cause[0] != '\0' ? remedy->cause : host.fault.text);
    if (remedy->action[0] != '\0')
        log_note("Remedy: %s", remedy->action);
}

/* Where only our own code can work on images, nothing is downloaded that programs of images must finish. */
static bool needs_programs(int argc, char **argv)
{
    bool has_source = false;
    for (int i = 0; i < argc; i++)
        has_source |= strncmp(argv[i], "--from", strlen("--from")) == 0;
    return !has_source && getenv(IMAGE_TIER_VARIABLE) != NULL;
}

static int fetch(const struct command *command, int argc, char **argv)
{
    if (!asks_for_help(argc, argv)) {
        warn_of_host();
        if (needs_programs(argc, argv)) {
            log_note(
                "Images are made of packages by programs that need namespaces, which this host refuses: "
                "fetch one from a registry or an archive (--from SOURCE --name NAME), or copy the store "
                "of images from another machine");
            return 1;
        }
    }
    return image_program_execute(command->name, argc, argv);
}

/* Its options, --help among them, are the image program's. */
const struct command command_fetch = {
    .name = "fetch",
    .usage = "fetch NAME... | fetch --from FILE --name NAME",
    .summary = "fetch images to run snippets on",
    .help = "",
    .run = fetch,
};
