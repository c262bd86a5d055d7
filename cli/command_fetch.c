#include "cli/command.h"
#include "cli/image_process.h"
#include "interpreter/base/log.h"

#include <string.h>

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return argc == 0;
}

/* Before hundreds of megabytes are downloaded for a host on which nothing can run. */
static void warn_of_host(void)
{
    struct host_finding host;
    if (image_program_try_host(&host) < 0 || host.can_jail)
        return;
    const struct remedy *remedy = &host.remedy;
    log_note("Snippets will not run on this host: %s",
             remedy->cause[0] != '\0' ? remedy->cause : host.fault.text);
    if (remedy->action[0] != '\0')
        log_note("Remedy: %s", remedy->action);
}

static int fetch(const struct command *command, int argc, char **argv)
{
    if (!asks_for_help(argc, argv))
        warn_of_host();
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
