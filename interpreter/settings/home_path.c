#include "interpreter/settings/home_path.h"
#include "images/store/xdg.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int home_path_expand(const char *what, const char *value, char **path, struct fault *fault)
{
    bool is_below_home = value[0] == '~';
    const char *home = is_below_home ? xdg_home() : "";
    if (is_below_home && value[1] != '/' && value[1] != '\0')
        return fault_set(fault, EINVAL,
                         "%s: \"%s\" begins with the name of a user, which is not expanded: write "
                         "the path out",
                         what, value);
    if (home == NULL)
        return fault_set(
            fault, EINVAL,
            "%s: \"%s\" is below your home directory, and you have none: write the path "
            "out",
            what, value);
    char *expanded;
    if (asprintf(&expanded, "%s%s", home, value + is_below_home) < 0)
        return fault_set(fault, ENOMEM, "reading %s: %m", what);
    free(*path);
    *path = expanded;
    return 0;
}
