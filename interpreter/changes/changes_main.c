/*
 * code-sandbox-mcp-changes SECONDS NANOSECONDS: makes a patch from the upper layer of an overlay and the
 * folder below it. code-sandbox-mcp runs it after a snippet, with these descriptors:
 *
 *     3  the root of the upper layer, written by the snippet
 *     4  the folder of the host
 *     5  an empty file in memory, for the patch
 *     6  another one, for the report (report.h)
 *
 * SECONDS and NANOSECONDS tell when the snippet began. The program first confines itself to reading
 * below 3 and 4, and reads; then it gives up opening files, and has libgit2 compare (confine.h).
 *
 * Exit status 0: there is a report, and a patch if it tells so. 1: the report tells a fault. 2: wrong
 * usage. It also dies by limits of its own, and when its parent does.
 */
#include "interpreter/changes/changes_confine.h"
#include "interpreter/changes/changes_report.h"
#include "interpreter/changes/patch.h"
#include "interpreter/changes/walk.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

#define EXIT_USAGE 2

enum {
    UPPER_FD = 3,
    HOST_FD = 4,
    PATCH_FD = 5,
    REPORT_FD = 6,
};

static bool number_read(const char *text, long *ret_number)
{
    char *end = NULL;
    errno = 0;
    *ret_number = strtol(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0;
}

static bool since_read(char **arguments, struct timespec *ret_since)
{
    long seconds = 0, nanoseconds = 0;
    if (!number_read(arguments[0], &seconds) || !number_read(arguments[1], &nanoseconds) ||
        nanoseconds >= 1000000000L)
        return false;
    *ret_since = (struct timespec){.tv_sec = seconds, .tv_nsec = nanoseconds};
    return true;
}

static int make_patch(const struct timespec *since, struct change_list *changes,
                      struct fault *fault)
{
    OWNED(confine_release) struct confinement confinement = {0};
    const int directory_fds[2] = {UPPER_FD, HOST_FD};
    int r = confine_prepare(&confinement, fault);
    if (r == 0)
        r = confine_reading(&confinement, directory_fds, fault);
    if (r < 0)
        return r;
    const struct walk_spec spec = {.upper_fd = UPPER_FD, .host_fd = HOST_FD, .since = *since};
    walk_changes(&spec, changes);
    close(UPPER_FD);
    close(HOST_FD);
    r = confine_comparing(&confinement, fault);
    OWNED(buffer_release) struct buffer patch = BUFFER(CHANGES_PATCH_MAX);
    if (r == 0)
        r = patch_write(changes, &patch, fault);
    if (r == 0 && (r = io_write(PATCH_FD, patch.data, patch.length)) < 0)
        fault_set(fault, -r, "cannot write the patch: %m");
    OWNED(buffer_release) struct buffer report = BUFFER(CHANGES_REPORT_MAX);
    if (r == 0 && (r = changes_report_write(changes, patch.length, &report)) == 0)
        r = io_write(REPORT_FD, report.data, report.length);
    return r < 0 ? fault_set(fault, -r, "cannot write the report: %m") : 0;
}

static void report_fault(const struct fault *fault)
{
    OWNED(buffer_release) struct buffer report = BUFFER(CHANGES_REPORT_MAX);
    if (changes_report_write_fault(fault, &report) == 0)
        (void)io_write(REPORT_FD, report.data, report.length);
}

int main(int argc, char **argv)
{
    struct timespec since;
    if (argc != 3 || !since_read(argv + 1, &since)) {
        fprintf(stderr, "Usage: code-sandbox-mcp-changes SECONDS NANOSECONDS\n"
                        "code-sandbox-mcp runs it with descriptors 3 to 6.\n");
        return EXIT_USAGE;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct fault fault = {0};
    OWNED(change_list_release) struct change_list changes = {0};
    int r = make_patch(&since, &changes, &fault);
    if (r < 0)
        report_fault(&fault);
    _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS); /* what handlers at exit call is not allowed */
}
