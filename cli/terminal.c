#include "cli/terminal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Those of ECMA-48, SGR. */
static const char *colour_of(enum verdict verdict)
{
    static const char *const colours[] = {
        [VERDICT_OK] = "\033[32m", [VERDICT_WEAK] = "\033[33m", [VERDICT_NO] = "\033[31m"};
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    bool has_colours = isatty(STDOUT_FILENO) == 1 && (refused == NULL || refused[0] == '\0') &&
                       terminal != NULL && strcmp(terminal, "dumb") != 0;
    return has_colours ? colours[verdict] : "";
}

void terminal_print_finding(enum verdict verdict, const char *what, const char *text)
{
    const char *colour = colour_of(verdict);
    printf("%s%-5s%s %-11s %s\n", colour, doctor_verdict_name(verdict),
           colour[0] != '\0' ? "\033[0m" : "", what, text);
}

void terminal_shorten(const char *list, char *ret_text, size_t size)
{
    size_t kept = 0;
    size_t left = 0;
    for (const char *comma = list; (comma = strstr(comma, ", ")) != NULL; comma++) {
        if ((size_t)(comma - list) <= TERMINAL_LIST_MAX)
            kept = (size_t)(comma - list);
        else
            left++;
    }
    if (strlen(list) <= TERMINAL_LIST_MAX || kept == 0)
        snprintf(ret_text, size, "%s", list);
    else
        snprintf(ret_text, size, "%.*s, and %zu more", (int)kept, list, left + 1);
}
