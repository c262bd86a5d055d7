#include "sandbox/network/broker/broker_confine.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/confinement.h"
#include "seccomp-profiles/network-profile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* As many descriptors as the system allows: each stream has two. */
static int limit_resources(struct fault *fault)
{
    const struct rlimit none = {0, 0};
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return fault_set(fault, errno, "cannot read a resource limit: %m");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
        setrlimit(RLIMIT_FSIZE, &none) < 0)
        return fault_set(fault, errno, "cannot set a resource limit: %m");
    return 0;
}

static int open_path(const char *path)
{
    return open(path, O_PATH | O_CLOEXEC);
}

/*
 * Of the directory with the configuration, which is replaced by a new file when the network changes: in
 * /run, or for an ordinary user, who finds no secret there, in /etc. -1: none.
 */
static int open_configuration_directory(void)
{
    char path[PATH_MAX];
    if (realpath("/etc/resolv.conf", path) == NULL)
        return -1;
    *strrchr(path, '/') = '\0';
    bool is_etc = strcmp(path, "/etc") == 0;
    return path[0] == '\0' || (is_etc && geteuid() == 0) ? -1 : open_path(path);
}

int confine_broker(struct fault *fault)
{
    int fds[] = {
        open_configuration_directory(),
        open_path("/etc/resolv.conf"),
        open_path("/etc/hosts"),
        open_path("/etc/nsswitch.conf"),
        open_path("/etc/host.conf"),
        open_path("/dev/urandom"), /* for c-ares, whose questions could be guessed without it */
    };
    OWNED(filter_release) struct filter filter = {0};
    int r =
        filter_compile(network_profile_json, sizeof(network_profile_json), NULL, &filter, fault);
    if (r == 0)
        r = limit_resources(fault);
    if (r == 0)
        r = confinement_keep_capabilities(0, fault);
    if (r == 0)
        r = confinement_read_only(fds, ARRAY_LENGTH(fds), fault);
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
        fd_close(&fds[i]);
    return r < 0 ? r : confinement_install(&filter, fault);
}
