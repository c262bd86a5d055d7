#include "interpreter/live_session.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

const char *live_session_kept(const struct live_session *live)
{
    return live->language_count == 1 ? live->languages[0]->session->kept : "variables and files";
}

int live_session_copy_variables(const char *const *environment, char ***ret_environment,
                                struct fault *fault)
{
    size_t count = 0;
    while (environment != NULL && environment[count] != NULL)
        count++;
    if (count == 0)
        return 0;
    OWNED(live_session_free_variables) char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = strdup(environment[i]);
        if (copy[i] == NULL)
            live_session_free_variables(&copy);
    }
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "starting a session: %m");
    *ret_environment = pointer_take(&copy);
    return 0;
}

void live_session_free_variables(char ***environment)
{
    for (char **variable = *environment; variable != NULL && *variable != NULL; variable++)
        free(*variable);
    free(*environment);
    *environment = NULL;
}
