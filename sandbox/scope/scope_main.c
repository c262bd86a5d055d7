/*
 * code-sandbox-mcp-scope PID UNIT: moves a process into a new systemd scope, in which the process
 * may create cgroups. code-sandbox-mcp runs this program if it has no writable cgroup of its own.
 * A program of its own may wait for systemd, which the server must not.
 *
 * Exit status 0: the process is in the scope, nothing is printed. 1: it is not, and one line on
 * stdout says why. 2: wrong usage.
 */
#include "sandbox/scope/scope.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define UNIT_MAX 255 /* bytes: systemd.unit(5) */
#define UNIT_SUFFIX ".scope"

/* Reads the pid of a process other than init. */
static bool pid_read(const char *text, pid_t *ret_pid)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 || number <= 1 ||
        number > INT_MAX)
        return false;
    *ret_pid = (pid_t)number;
    return true;
}

/* Allows fewer characters than systemd: only those that need no escaping in a path. */
static bool unit_is_valid(const char *unit)
{
    size_t length = strlen(unit);
    size_t suffix = strlen(UNIT_SUFFIX);
    if (length <= suffix || length > UNIT_MAX || strcmp(unit + length - suffix, UNIT_SUFFIX) != 0)
        return false;
    for (const char *at = unit; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr("-_.:", *at) == NULL)
            return false;
    }
    return isalnum((unsigned char)unit[0]);
}

/* Async-signal-safe. */
static void give_up(int signal_number)
{
    (void)signal_number;
    static const char text[] =
        "systemd kept us waiting where it should not be able to; is it hung?\n";
    ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);
    (void)written;
    _exit(EXIT_FAILURE);
}

/* Every wait below has its own timeout; this one is a safety net. */
static void set_last_resort(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, give_up);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    alarm(SCOPE_SECONDS_MAX);
}

/* Prints one line, even if the manager's message has several. */
static void print_line(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        if (iscntrl((unsigned char)*at))
            *at = ' ';
    }
    puts(text);
}

int main(int argc, char **argv)
{
    pid_t pid = 0;
    if (argc != 3 || !pid_read(argv[1], &pid) || !unit_is_valid(argv[2])) {
        fprintf(stderr, "Usage: code-sandbox-mcp-scope PID UNIT\n"
                        "PID is a process other than init, UNIT ends in " UNIT_SUFFIX
                        " and is made of letters, digits and -_.:\n");
        return EXIT_USAGE;
    }
    set_last_resort();
    struct fault fault = {0};
    if (scope_start(pid, argv[2], &fault) == 0)
        return EXIT_SUCCESS;
    print_line(fault.text);
    return EXIT_FAILURE;
}
