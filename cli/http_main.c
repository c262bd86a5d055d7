/*
 * code-sandbox-mcp-http: `code-sandbox-mcp serve --http` executes it with the same arguments. It is the same server,
 * with many clients over HTTP in place of one on stdin and stdout, and the only program that links
 * libmicrohttpd.
 */
#include "cli/serve.h"
#include "interpreter/base/log.h"
#include "mcp/http/http_server.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/rlimits.h"

int main(int argc, char **argv)
{
    OWNED(settings_release) struct settings settings = settings_default();
    int status = EXIT_DONE;
    struct fault fault = {0};
    rlimits_raise();
    if (languages_load(&fault) < 0)
        return command_refuse(&command_serve, &fault);
    if (argc < 1 || serve_read(&command_serve, argc - 1, argv + 1, &settings, &status) != 0)
        return status;
    if (settings.http == NULL) {
        log_note("name an address with --http, or start code-sandbox-mcp");
        return EXIT_USAGE;
    }
    return serve_run(&command_serve, &settings, http_server_run);
}
