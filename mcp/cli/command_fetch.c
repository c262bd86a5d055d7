#include "mcp/cli/command.h"
#include "mcp/cli/image_program.h"

static int fetch(const struct command *command, int argc, char **argv)
{
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
