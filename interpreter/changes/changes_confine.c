#include "interpreter/changes/changes_confine.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/confinement.h"
#include "seccomp-profiles/changes-comparing-profile.h"
#include "seccomp-profiles/changes-reading-profile.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Two directories on each level, and some. */
#define DESCRIPTORS_MAX (2 * CHANGES_DEPTH_MAX + 64)

#ifdef __SANITIZE_ADDRESS__ /* reserves terabytes */
#define MEMORY_MAX RLIM_INFINITY
#else
#define MEMORY_MAX CHANGES_MEMORY_MAX
#endif

int confine_prepare(struct confinement *confinement, struct fault *fault)
{
    int r = filter_compile(changes_reading_profile_json, sizeof(changes_reading_profile_json), NULL,
                           &confinement->reading, fault);
    return r < 0 ? r
                 : filter_compile(changes_comparing_profile_json,
                                  sizeof(changes_comparing_profile_json), NULL,
                                  &confinement->comparing, fault);
}

void confine_release(struct confinement *confinement)
{
    filter_release(&confinement->reading);
    filter_release(&confinement->comparing);
}

static int limit_resources(struct fault *fault)
{
    static const struct {
        int resource;
        rlim_t most;
    } limits[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_AS, MEMORY_MAX},
        {RLIMIT_CPU, CHANGES_CPU_MAX_S},
        {RLIMIT_FSIZE, CHANGES_PATCH_MAX},
        {RLIMIT_NOFILE, DESCRIPTORS_MAX},
    };
    _Static_assert(CHANGES_REPORT_MAX <= CHANGES_PATCH_MAX, "one limit serves both");
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit) < 0)
            return fault_set(fault, errno, "cannot read a resource limit: %m");
        limit.rlim_max = limits[i].most < limit.rlim_max ? limits[i].most : limit.rlim_max;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(limits[i].resource, &limit) < 0)
            return fault_set(fault, errno, "cannot set a resource limit: %m");
    }
    return 0;
}

static int check_directories(const int directory_fds[2], struct fault *fault)
{
    struct stat about;
    for (size_t i = 0; i < 2; i++) {
        if (fstat(directory_fds[i], &about) < 0 || !S_ISDIR(about.st_mode))
            return fault_set(fault, ENOTDIR,
                             "cannot confine this process to what it was given: %m");
    }
    return 0;
}

int confine_reading(const struct confinement *confinement, const int directory_fds[2],
                    struct fault *fault)
{
    /* A server of root reads files of others; it needs no other capability here. */
    const uint32_t kept = 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER;
    int r = check_directories(directory_fds, fault);
    if (r == 0)
        r = limit_resources(fault);
    if (r == 0)
        r = confinement_keep_capabilities(kept, fault);
    if (r == 0)
        r = confinement_read_only(directory_fds, 2, fault);
    return r < 0 ? r : confinement_install(&confinement->reading, fault);
}

int confine_comparing(const struct confinement *confinement, struct fault *fault)
{
    return confinement_install(&confinement->comparing, fault);
}
