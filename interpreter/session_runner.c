#include "interpreter/session_runner.h"

#include "images/runners/javascript/session-program.h"
#include "images/runners/python/session-program.h"

/* An interrupt may end a callback of a timer without the books that Node keeps of it. */
static const char *const node_argv[] = {"node", "--no-force-async-hooks-checks", "main.js", NULL};

static const struct session_runner runners[LANGUAGE_COUNT] = {
    [LANGUAGE_PYTHON] =
        {
            .prefix = "py",
            .kept = "variables and files",
            .kind = SESSION_LIVE,
            .program = python_session_program,
            .length = sizeof(python_session_program),
        },
    [LANGUAGE_JAVASCRIPT] =
        {
            .prefix = "js",
            .kept = "variables and files",
            .kind = SESSION_LIVE,
            .interrupted_by_frame = true,
            .argv = node_argv,
            .program = javascript_session_program,
            .length = sizeof(javascript_session_program),
        },
    [LANGUAGE_BASH] = {.prefix = "sh", .kept = "files", .kind = SESSION_FRESH, .program = ""},
};

const struct session_runner *session_runner_of(const struct language *language)
{
    const struct session_runner *runner = &runners[language_id(language)];
    return runner->prefix != NULL ? runner : NULL;
}
