#include "cli/command.h"
#include "cli/rlimit_notes.h"
#include "cli/serve.h"
#include "interpreter/base/helpers.h"
#include "interpreter/base/log.h"
#include "interpreter/checker.h"
#include "interpreter/rules/rules.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "interpreter/settings/tier_choice.h"
#include "mcp/server.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whoever has rules may believe that they hold for all languages. */
static void tell_unchecked(const struct settings *settings)
{
    for (size_t i = 0; i < language_count; i++)
        if (settings->policy != NULL && strcmp(settings->policy, "off") != 0 &&
            settings_offer(settings, languages[i]) && !checker_knows(languages[i]))
            log_note("--policy does not check programs in %s", languages[i]->title);
}

int serve_read(const struct command *command, int argc, char **argv, struct settings *settings,
               int *ret_status)
{
    void *const data[] = {settings, settings, settings, settings, settings};
    int operands = 0;
    if (command_read_options(command, argc, argv, data, &operands, ret_status) != 0)
        return 1;
    struct fault fault = {0};
    int r = 0;
    if (operands > 0)
        r = fault_set(&fault, EINVAL, "\"%.*s\" is not expected here",
                      command_shown_length(argv[0]), argv[0]);
    if (r == 0)
        r = settings_read(settings, &fault);
    if (r == 0)
        r = settings_read_check_server(settings, &fault);
    if (r == 0)
        r = settings_read_workers(settings, &fault);
    if (r == 0)
        r = rules_try(settings->policy, &fault);
    if (r < 0)
        *ret_status = command_refuse(command, &fault);
    return r < 0 ? 1 : 0;
}

int serve_run(const struct command *command, struct settings *settings,
              int (*run)(const struct settings *settings, struct fault *fault))
{
    struct fault fault = {0};
    if (log_open(&settings->log, &fault) < 0)
        return command_refuse(command, &fault);
    if (settings->fleet.url == NULL) {
        tier_choose(settings);
        rlimit_notes_log(&settings->limits);
    }
    tell_unchecked(settings);
    int r = run(settings, &fault);
    if (r < 0)
        log_note("%s", fault.text);
    return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_on_stdio(const struct settings *settings, struct fault *fault)
{
    return server_run(settings, STDIN_FILENO, STDOUT_FILENO, fault);
}

/* The program that links the HTTP library takes this one's place. */
static int execute_http(int argc, char **argv)
{
    OWNED_MEMORY char *program = NULL;
    if (helpers_find(HTTP_PROGRAM, HTTP_FOLDER, &program) < 0) {
        log_note(HTTP_PROGRAM " is not installed: install the Debian package " HTTP_PROGRAM
                              ", or build from source with libmicrohttpd");
        return EXIT_FAILED;
    }
    OWNED_MEMORY char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));
    if (arguments != NULL) {
        arguments[0] = program;
        memcpy(arguments + 1, argv, (size_t)argc * sizeof(*argv));
        execv(program, arguments);
    }
    log_note("starting %s: %s", program, strerror(errno));
    return EXIT_FAILED;
}

static int serve(const struct command *command, int argc, char **argv)
{
    OWNED(settings_release) struct settings settings = settings_default();
    int status = EXIT_DONE;
    if (serve_read(command, argc, argv, &settings, &status) != 0)
        return status;
    return settings.http != NULL ? execute_http(argc, argv)
                                 : serve_run(command, &settings, run_on_stdio);
}

const struct command command_serve = {
    .name = "serve",
    .usage = "[serve] [OPTION...]",
    .summary = "serve MCP on stdin and stdout, or HTTP (the default)",
    .help =
        "Serves the Model Context Protocol on stdin and stdout until the client closes them. An MCP\n"
        "client starts it; it runs snippets of code, each in a sandbox of its own. With --http it\n"
        "serves many clients at a local port until a signal ends it: MCP at /mcp, and /run_code as\n"
        "SandboxFusion has it.\n"
        "\n"
        "Each option but --env and --config can also be set by a variable (SANDBOX_MEMORY=512M for\n"
        "--memory), and each but --config by a key of the configuration file, a JSON object\n"
        "({\"memory\": \"512M\", \"timeout_max\": 120}). An option overrides a variable; a variable\n"
        "overrides the file.\n"
        "\n"
        "Other variables: PASSTHROUGH_ENV for --pass-through-env; CONTAINER_IMAGE with\n"
        "CONTAINER_LANGUAGE: the image of that language. Images are kept below XDG_DATA_HOME,\n"
        "the configuration file below XDG_CONFIG_HOME.\n",
    .options = setting_tables,
    .run = serve,
};
