#include "mcp/cli/image_program.h"

#include "mcp/base/helpers.h"
#include "mcp/base/log.h"
#include "mcp/cli/command.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int image_program_execute(const char *word, int argc, char **argv)
{
    OWNED_MEMORY char *path = NULL;
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
