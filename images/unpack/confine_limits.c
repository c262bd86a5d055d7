#include "images/unpack/confine_limits.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

/* Address space of one that reads archives; zstd may ask for a window of 128 MiB. */
#ifdef __SANITIZE_ADDRESS__ /* reserves terabytes */
#define CONFINED_MEMORY_MAX RLIM_INFINITY
#else
#define CONFINED_MEMORY_MAX (UINT64_C(1) << 30)
#endif

/* Of programs of the image: each process, but for the number of processes. */
#define PROGRAM_PROCESSES_MAX 2048
#define PROGRAM_FILES_MAX 8192
#define PROGRAM_FILE_SIZE_MAX (UINT64_C(16) << 30)
#define PROGRAM_MEMORY_MIN (UINT64_C(2) << 30)
#define PROGRAM_NICE 5

/* Lowers a limit, for good. 0 or a negative errno with a fault. */
static int limit_lower(int resource, rlim_t value, struct fault *fault)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return fault_set(fault, errno, "cannot look at a resource limit: %m");
    value = value < limit.rlim_max ? value : limit.rlim_max;
    limit = (struct rlimit){value, value};
    if (setrlimit(resource, &limit) < 0)
        return fault_set(fault, errno, "cannot set a resource limit: %m");
    return 0;
}

/* Half of what the machine has, but no less than what an installer needs anywhere. */
static rlim_t program_memory(void)
{
    struct sysinfo machine;
    rlim_t half = sysinfo(&machine) == 0 ? (rlim_t)machine.totalram * machine.mem_unit / 2 : 0;
    return half > PROGRAM_MEMORY_MIN ? half : PROGRAM_MEMORY_MIN;
}

/*
 * Those of programs of the image, which read no archives. Not RLIMIT_AS: V8 reserves tens of
 * gigabytes. Processes are counted in the user namespace, so only theirs: getrlimit(2).
 */
static int program_limits_set(struct fault *fault)
{
    const struct {
        int resource;
        rlim_t value;
    } limits[] = {
        {RLIMIT_NPROC, PROGRAM_PROCESSES_MAX},
        {RLIMIT_NOFILE, PROGRAM_FILES_MAX},
        {RLIMIT_FSIZE, PROGRAM_FILE_SIZE_MAX},
        {RLIMIT_DATA, program_memory()},
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(limits); i++)
        r = limit_lower(limits[i].resource, limits[i].value, fault);
    /* Under nice(1) it may be low enough already, and to raise it again is refused. */
    if (r == 0 && getpriority(PRIO_PROCESS, 0) < PROGRAM_NICE &&
        setpriority(PRIO_PROCESS, 0, PROGRAM_NICE) < 0)
        r = fault_set(fault, errno, "cannot lower the priority of a program: %m");
    return r;
}

int confine_limits_set(bool programs, struct fault *fault)
{
    int r = limit_lower(RLIMIT_CORE, 1, fault); /* not 0: core_pattern.h */
    if (r == 0)
        r = programs ? program_limits_set(fault)
                     : limit_lower(RLIMIT_AS, CONFINED_MEMORY_MAX, fault);
    return r;
}
