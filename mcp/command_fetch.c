#include "mcp/command.h"
#include "mcp/log.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_PROGRAM "code-sandbox-mcp-image"

/*
 * Where the image program is: where it is installed, or in the build directory that this program
 * is in. NULL: no memory, or /proc is not there.
 */
static char *find_image_program(void)
{
    static const char installed[] = LIBEXEC_DIRECTORY "/" IMAGE_PROGRAM;
    if (access(installed, X_OK) == 0)
        return strdup(installed);
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return NULL;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    char *path = NULL;
    return asprintf(&path, "%s/../images/" IMAGE_PROGRAM, self) < 0 ? NULL : path;
}

static int fetch(const struct command *command, int argc, char **argv)
{
    OWNED_MEMORY char *path = find_image_program();
    OWNED_MEMORY char **arguments = calloc((size_t)argc + 3, sizeof(*arguments));
    if (path == NULL || arguments == NULL) {
        log_note("looking for the image program: %s", strerror(errno));
        return EXIT_FAILED;
    }
    arguments[0] = path;
    arguments[1] = (char *)command->name;
    memcpy(arguments + 2, argv, (size_t)argc * sizeof(*argv));
    execv(path, arguments);
    log_note("starting the image program %s: %s. It is installed to %s together with this program",
             path, strerror(errno), LIBEXEC_DIRECTORY);
    return EXIT_FAILED;
}

/* Its options, --help among them, are the image program's. */
const struct command command_fetch = {
    .name = "fetch",
    .usage = "fetch NAME... | fetch --from FILE --name NAME",
    .summary = "fetch images, which snippets run on",
    .help = "",
    .run = fetch,
};
