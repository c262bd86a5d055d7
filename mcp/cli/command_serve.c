#include "mcp/base/log.h"
#include "mcp/cli/command.h"
#include "mcp/launch/checker.h"
#include "mcp/rules/rules.h"
#include "mcp/server.h"
#include "mcp/settings/setting_table.h"
#include "mcp/settings/settings_read.h"
#include "mcp/settings/tier_choice.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

/* Whoever has rules may believe that they hold for all languages. */
static void tell_unchecked(const struct settings *settings)
{
    size_t count;
    const struct language *languages = language_list(&count);
    for (size_t i = 0; i < count; i++)
        if (settings->policy != NULL && strcmp(settings->policy, "off") != 0 &&
            settings_offer(settings, &languages[i]) && !checker_knows(&languages[i]))
            log_note("--policy does not check programs in %s", languages[i].title);
}

static int serve(const struct command *command, int argc, char **argv)
{
    OWNED(settings_release) struct settings settings = settings_default();
    void *const data[] = {&settings, &settings, &settings, &settings, &settings};
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    struct fault fault = {0};
    if (operands > 0) {
        fault_set(&fault, EINVAL, "\"%.*s\" is not expected here", command_shown_length(argv[0]),
                  argv[0]);
        return command_refuse(command, &fault);
    }
    int r = settings_read(&settings, &fault);
    if (r == 0)
        r = settings_read_check_server(&settings, &fault);
    if (r == 0)
        r = settings_read_workers(&settings, &fault);
    if (r == 0)
        r = rules_try(settings.policy, &fault);
    if (r == 0)
        r = log_open(&settings.log, &fault);
    if (r < 0)
        return command_refuse(command, &fault);
    if (settings.fleet.url == NULL)
        tier_choose(&settings);
    tell_unchecked(&settings);
    r = server_run(&settings, STDIN_FILENO, STDOUT_FILENO, &fault);
    if (r < 0)
        log_note("%s", fault.text);
    return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static const struct option *const serve_options[] = {settings_of_runs,   settings_of_many,
                                                     settings_of_server, settings_of_callers,
                                                     settings_of_broker, NULL};

const struct command command_serve = {
    .name = "serve",
    .usage = "[serve] [OPTION...]",
    .summary = "serve MCP on stdin and stdout (the default)",
    .help =
        "Serves the Model Context Protocol on stdin and stdout until the client closes them. An MCP\n"
        "client starts it; it runs snippets of code, each in a sandbox of its own.\n"
        "\n"
        "Each option but --env can also be set by a variable (SANDBOX_MEMORY=512M for --memory),\n"
        "and each by a key of the configuration file, a JSON object ({\"memory\": \"512M\",\n"
        "\"timeout_max\": 120}). An option overrides a variable; a variable overrides the file.\n"
        "\n"
        "Other variables: PASSTHROUGH_ENV for --pass-through-env; CONTAINER_IMAGE with\n"
        "CONTAINER_LANGUAGE: the image of that language. Images are kept below XDG_DATA_HOME,\n"
        "the configuration file below XDG_CONFIG_HOME.\n",
    .options = serve_options,
    .run = serve,
};
