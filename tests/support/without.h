/*
 * For -Dwithout=, in builds of tests only: which walls of the jail are left out (wall.h) stands in a
 * variable, " name name ", when the program starts. Copied before main(), since the child forgets its
 * environment.
 */
#include <stdlib.h>
#include <string.h>

static char walls_without[1024] = " ";

__attribute__((constructor)) static void read_walls_without(void)
{
    const char *names = getenv("CODE_SANDBOX_WITHOUT");
    if (names == NULL)
        return;
    if (strlen(names) >= sizeof(walls_without))
        abort();
    strcpy(walls_without, names);
}

#define JAIL_WITHOUT walls_without
