#include "mcp/command.h"
#include "mcp/log.h"
#include "mcp/server.h"
#include "mcp/settings.h"
#include "sandbox/base/owned.h"

#include <errno.h>

static const struct option serve_options[] = {
    {"--timeout", "SECONDS", "how long a snippet may run (30)", settings_apply_timeout},
    {"--parallel", "N", "how many run at once; others wait\n(the number of processors)",
     settings_apply_parallel},
    {"--pass-through-env", "NAMES",
     "variables of this environment that snippets\nsee too, separated by commas",
     settings_apply_pass_through},
    {"--result-format", "FORMAT",
     "text: plain lines (the default);\n"
     "json: a failure is a JSON object in the text;\n"
     "structured: outputSchema and structuredContent",
     settings_apply_result_format},
    {0},
};

static int serve(const struct command *command, int argc, char **argv)
{
    OWNED(settings_release) struct settings settings = settings_default();
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, &settings, &operands, &status) != 0)
        return status;
    struct fault fault = {0};
    if (operands > 0) {
        fault_set(&fault, EINVAL, "\"%.60s\" is not expected here", argv[0]);
        return command_refuse(command, &fault);
    }
    int r = settings_read_environment(&settings, &fault);
    if (r == 0)
        r = server_run(&settings, STDIN_FILENO, STDOUT_FILENO, &fault);
    if (r < 0)
        log_note("%s", fault.text);
    return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command command_serve = {
    .name = "serve",
    .usage = "[serve] [OPTION...]",
    .summary = "serve MCP on stdin and stdout (what happens without a command)",
    .help =
        "Serves the Model Context Protocol on stdin and stdout, until the client closes them. A\n"
        "client starts it; it runs Python and JavaScript, each snippet in a jail of its own.\n"
        "\n"
        "Variables: PASSTHROUGH_ENV, as --pass-through-env; CONTAINER_IMAGE with\n"
        "CONTAINER_LANGUAGE, the image that this one language runs on; XDG_DATA_HOME, below\n"
        "which the images are kept.\n",
    .options = serve_options,
    .run = serve,
};
