#include "sandbox/limits/cgroup.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CPU_PERIOD_US 100000

static void name_of(uint64_t number, char name[32])
{
    snprintf(name, 32, "run-%" PRIu64, number);
}

static bool remove_directory(const struct cgroup_parent *parent, uint64_t number)
{
    char name[32];
    name_of(number, name);
    return unlinkat(parent->subtree.fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

/*
 * Only those of ended runs: the kernel lets any cgroup without live processes be removed, even if
 * its run has not been accounted for.
 */
static void remove_left(struct cgroup_parent *parent)
{
    size_t count = 0;
    for (size_t i = 0; i < parent->left_count; i++) {
        if (!remove_directory(parent, parent->left[i]))
            parent->left[count++] = parent->left[i];
    }
    parent->left_count = count;
}

/* One file of a new cgroup, and what it is set to. */
struct limit_file {
    const char *name;
    enum cgroup_controller controller;
    char value[48];
};

static int apply(const struct cgroup *cgroup, const struct limit_file *file, struct fault *fault)
{
    if ((cgroup->parent->subtree.controllers & file->controller) == 0 ||
        strcmp(file->value, "max") == 0) /* the default */
        return 0;
    int r = cgroup_write(cgroup->fd, file->name, file->value);
    if (r == 0)
        return 0;
    return fault_set(fault, -r, "cannot set %s of a run's cgroup to %s: %m", file->name,
                     file->value);
}

/* A rate above what the machine has needs no accounting. */
static void cpu_value(const struct cgroup *cgroup, const struct run_limits *limits, char *value,
                      size_t size)
{
    if (cgroup->parent->processors > 0 &&
        limits->millicpus >= (uint64_t)cgroup->parent->processors * 1000)
        snprintf(value, size, "max");
    else
        snprintf(value, size, "%" PRIu64 " %d", (uint64_t)limits->millicpus * CPU_PERIOD_US / 1000,
                 CPU_PERIOD_US);
}

static int apply_limits(const struct cgroup *cgroup, const struct run_limits *limits,
                        struct fault *fault)
{
    struct limit_file files[] = {
        {"memory.max", CONTROLLER_MEMORY, ""},
        /* Out of memory, kill all processes: the survivors would be half a program. */
        {"memory.oom.group", CONTROLLER_MEMORY, "1"},
        {"pids.max", CONTROLLER_PIDS, ""},
        {"cpu.max", CONTROLLER_CPU, ""},
    };
    const size_t size = sizeof(files[0].value);
    snprintf(files[0].value, size, "%" PRIu64, limits->memory_bytes);
    snprintf(files[2].value, size, "%" PRIu64, limits->processes + 1);
    cpu_value(cgroup, limits, files[3].value, size);
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(files); i++)
        r = apply(cgroup, &files[i], fault);
    return r;
}

static bool has_limits(const struct run_limits *one, const struct run_limits *other)
{
    return one->memory_bytes == other->memory_bytes && one->processes == other->processes &&
           one->millicpus == other->millicpus;
}

static void open_files(struct cgroup *cgroup)
{
    static const char *const names[CGROUP_OPEN_FILES] = {
        [CGROUP_CPU_STAT] = "cpu.stat",           [CGROUP_MEMORY_PEAK] = "memory.peak",
        [CGROUP_PIDS_PEAK] = "pids.peak",         [CGROUP_PIDS_EVENTS] = "pids.events",
        [CGROUP_MEMORY_EVENTS] = "memory.events",
    };
    for (size_t i = 0; i < CGROUP_OPEN_FILES; i++)
        cgroup->files[i] = openat(cgroup->fd, names[i], O_RDONLY | O_CLOEXEC);
    cgroup_refusals(cgroup); /* so that only later refusals are reported */
}

static int make_new(struct cgroup_parent *parent, const struct run_limits *limits,
                    struct cgroup *ret_cgroup, struct fault *fault)
{
    struct cgroup cgroup = CGROUP_EMPTY;
    cgroup.parent = parent;
    cgroup.number = ++parent->runs_made;
    char name[32];
    name_of(cgroup.number, name);
    if (mkdirat(parent->subtree.fd, name, 0755) < 0)
        return fault_set(fault, errno, "cannot create a cgroup for a run: %m");
    cgroup.fd = openat(parent->subtree.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;
    if (cgroup.fd < 0)
        r = fault_set(fault, errno, "cannot open a run's cgroup: %m");
    else
        r = apply_limits(&cgroup, limits, fault);
    if (cgroup.fd < 0 || r < 0) { /* at once: there is no run to wait for */
        fd_close(&cgroup.fd);
        remove_directory(parent, cgroup.number);
        return r;
    }
    open_files(&cgroup);
    *ret_cgroup = cgroup;
    return 0;
}

/* The spare cgroup may be old, and someone may have removed it, since it is empty. */
static bool is_still_there(const struct cgroup *spare)
{
    char name[32];
    name_of(spare->number, name);
    return spare->fd >= 0 && faccessat(spare->parent->subtree.fd, name, F_OK, 0) == 0;
}

int cgroup_make(struct cgroup_parent *parent, const struct run_limits *limits,
                struct cgroup *ret_cgroup, struct fault *fault)
{
    struct cgroup spare = parent->spare;
    parent->spare = CGROUP_EMPTY;
    if (is_still_there(&spare) && has_limits(&parent->last_limits, limits)) {
        *ret_cgroup = spare;
        return 0;
    }
    cgroup_remove(&spare);
    parent->last_limits = *limits;
    return make_new(parent, limits, ret_cgroup, fault);
}

void cgroup_tidy(struct cgroup_parent *parent)
{
    remove_left(parent);
    if (parent->runs_made > 0 && parent->spare.fd < 0)
        make_new(parent, &parent->last_limits, &parent->spare, NULL);
}

void cgroup_kill(const struct cgroup *cgroup)
{
    if (cgroup->fd >= 0)
        cgroup_write(cgroup->fd, "cgroup.kill", "1");
}

void cgroup_freeze(const struct cgroup *cgroup, bool freeze)
{
    if (cgroup->fd >= 0)
        cgroup_write(cgroup->fd, "cgroup.freeze", freeze ? "1" : "0");
}

/* 0 if this kernel does not have it, or without its controller. */
static uint64_t number_in(const struct cgroup *cgroup, enum cgroup_open_file file, const char *key)
{
    char text[1024];
    uint64_t number = 0;
    int fd = cgroup->files[file];
    if (fd < 0 || text_file_read_open(fd, text, sizeof(text)) < 0)
        return 0;
    int r = key == NULL ? cgroup_parse_number(text, &number) : cgroup_find_key(text, key, &number);
    return r == 0 ? number : 0;
}

void cgroup_measure(const struct cgroup *cgroup, struct cgroup_usage *ret_usage)
{
    uint64_t processes = number_in(cgroup, CGROUP_PIDS_PEAK, NULL);
    *ret_usage = (struct cgroup_usage){
        .cpu_ns = (int64_t)number_in(cgroup, CGROUP_CPU_STAT, "usage_usec") * 1000,
        .peak_memory_bytes = (int64_t)number_in(cgroup, CGROUP_MEMORY_PEAK, NULL),
        .peak_processes = processes > 0 ? (int64_t)processes - 1 : 0,
    };
}

uint64_t cgroup_refusals(const struct cgroup *cgroup)
{
    return number_in(cgroup, CGROUP_PIDS_EVENTS, "max");
}

uint64_t cgroup_memory_kills(const struct cgroup *cgroup)
{
    uint64_t kills = 0;
    return cgroup_read_key(cgroup->fd, "memory.events", "oom_kill", &kills) == 0 ? kills : 0;
}

void cgroup_slow_from(const struct cgroup *cgroup, uint64_t bytes)
{
    char value[24] = "max";
    if (bytes != UINT64_MAX)
        snprintf(value, sizeof(value), "%" PRIu64, bytes);
    cgroup_write(cgroup->fd, "memory.high", value);
}

uint64_t cgroup_slowed(const struct cgroup *cgroup)
{
    return number_in(cgroup, CGROUP_MEMORY_EVENTS, "high");
}

bool cgroup_is_full(const struct cgroup *cgroup)
{
    uint64_t maximum = 0;
    uint64_t current = 0;
    return cgroup_read_number(cgroup->fd, "pids.max", &maximum) == 0 &&
           cgroup_read_number(cgroup->fd, "pids.current", &current) == 0 && current >= maximum;
}

void cgroup_remove(struct cgroup *cgroup)
{
    struct cgroup_parent *parent = cgroup->parent;
    if (parent == NULL)
        return;
    fd_close(&cgroup->fd);
    for (size_t i = 0; i < CGROUP_OPEN_FILES; i++)
        fd_close(&cgroup->files[i]);
    if (parent->left_count == CGROUPS_LEFT_MAX)
        remove_left(parent); /* the server may stay busy for long */
    if (parent->left_count < CGROUPS_LEFT_MAX)
        parent->left[parent->left_count++] = cgroup->number;
    if (parent->loop != NULL)
        loop_arm(parent->loop, &parent->tidy,
                 clock_now() + CGROUPS_TIDY_MS * NANOSECONDS_PER_MILLISECOND);
    *cgroup = CGROUP_EMPTY;
}
