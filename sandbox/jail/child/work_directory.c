#include "sandbox/jail/child/descriptors.h"
#include "sandbox/jail/child/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int step_enter_work_directory(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    if (chdir(plan->work_directory) < 0)
        return -errno;
    if (plan->packages == NULL || plan->kind == JAIL_JOINED)
        return 0;
    return mkdir(plan->packages, 0755) < 0 ? -errno : 0;
}

/*
 * After the program has ended, the parent collects files from the work directory, figures from below
 * the home directory and changes from the upper layers of folders, and names files that were left in the
 * home directory and /tmp. Until then the descriptors are in
 * flight in the socket and count against the user's limit (unix(7), ETOOMANYREFS). A snippet that
 * exhausts this limit cannot keep other snippets from running, only from returning files; their results say so.
 */
int step_show_work_directory(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    const char *const shown[] = {".", plan->home, plan->temporary};
    int fds[DESCRIPTORS_MAX];
    size_t count = 0;
    for (; count < sizeof(shown) / sizeof(shown[0]); count++) {
        fds[count] = open(shown[count], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fds[count] < 0)
            return -errno;
    }
    memcpy(fds + count, jail->upper_fds, jail->upper_count * sizeof(int));
    count += jail->upper_count;
    int r = descriptors_hand_over(plan->files_fd, 0, fds, count);
    close(plan->files_fd);
    return r == -ETOOMANYREFS ? 0 : r;
}
