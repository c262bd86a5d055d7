#include "sandbox/jail/image_plan.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/core_pattern.h"
#include "sandbox/jail/plan_base.h"
#include "sandbox/jail/rootfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>

/* Address space of a process that reads archives; zstd may need a window of 128 MiB. */
#ifdef __SANITIZE_ADDRESS__ /* reserves terabytes */
#define UNPACK_MEMORY_MAX RLIM_INFINITY
#define INSTALL_MEMORY_MIN RLIM_INFINITY
#else
#define UNPACK_MEMORY_MAX (UINT64_C(1) << 30)
#define INSTALL_MEMORY_MIN (UINT64_C(2) << 30) /* for each process of an installer */
#endif

/* Limits of installers, per process except for the number of processes. */
#define INSTALL_PROCESSES_MAX 2048
#define INSTALL_FILES_MAX 8192
#define INSTALL_FILE_SIZE_MAX (UINT64_C(16) << 30)
#define INSTALL_NICE 5

static const struct plan_scratch scratch[] = {
    {"tmp", "/tmp", 01777, true},
    {"shm", "/dev/shm", 01777, false},
};

/*
 * Mounts, or the owners of files in tier C, restrict files already. Landlock's scopes, where the host has them, add
 * signals and abstract sockets of the host.
 */
static const struct plan_path_rights install_rights[] = {{"/", RIGHTS_KEEP_FILES}};
static const struct plan_path_rights unpack_rights[] = {{"/", RIGHTS_KEEP_DATA}};

static int report_fd; /* for the body performed by this process */

static void send_text(const struct child_report *report, int64_t number, const char *text)
{
    struct text_report record = {.report = *report, .number = number};
    size_t length = strnlen(text, sizeof(record.text) - 1);
    memcpy(record.text, text, length);
    (void)!send(report_fd, &record, offsetof(struct text_report, text) + length + 1, MSG_NOSIGNAL);
}

void image_jail_tell(int what, int64_t number, const char *text)
{
    const struct child_report report = {.kind = REPORT_TOLD, .index = what};
    send_text(&report, number, text);
}

static int perform(void *data)
{
    const struct image_plan *plan = data;
    struct fault fault = {0};
    report_fd = plan->jail.control_fd;
    int r = plan->spec->body(plan->spec->data, &fault);
    const struct child_report failure = {
        .kind = REPORT_FAILED, .step = STEP_BODY, .error = -r, .index = -1};
    if (r < 0)
        send_text(&failure, 0, fault.text);
    return r < 0 ? 1 : 0;
}

/* Half of the machine's memory, but at least the minimum an installer needs. */
static rlim_t install_memory(void)
{
    struct sysinfo machine;
    rlim_t half = sysinfo(&machine) == 0 ? (rlim_t)machine.totalram * machine.mem_unit / 2 : 0;
    return half > INSTALL_MEMORY_MIN ? half : INSTALL_MEMORY_MIN;
}

/* The plan owns the parts even after a failure. 0 or -ENOMEM. */
static int plan_program(struct image_plan *plan, const struct image_program *program)
{
    static const char *const directories[] = {ROOTFS_PROGRAM_DIRECTORIES};
    size_t count = 1; /* argv[0] names the program */
    while (program->argv[count] != NULL)
        count++;
    plan->argv = calloc(count + 1, sizeof(char *));
    plan->programs = calloc(ARRAY_LENGTH(directories) + 1, sizeof(char *));
    if (plan->argv == NULL || plan->programs == NULL)
        return -ENOMEM;
    memcpy(plan->argv, program->argv, count * sizeof(char *));
    const char *name = program->argv[0];
    size_t places = name[0] == '/' ? 1 : ARRAY_LENGTH(directories);
    for (size_t i = 0; i < places; i++)
        if (asprintf(&plan->programs[i], "%s%s%s", name[0] == '/' ? "" : directories[i],
                     name[0] == '/' ? "" : "/", name) < 0) {
            plan->programs[i] = NULL;
            return -ENOMEM;
        }
    plan->jail.argv = plan->argv;
    plan->jail.programs = plan->programs;
    plan->jail.environment = (char *const *)program->environment;
    return 0;
}

/* RLIMIT_AS is not usable: V8 reserves tens of gigabytes. The user namespace counts processes. */
static int plan_install(struct image_plan *plan)
{
    const struct image_jail *spec = plan->spec;
    plan->jail.subject = "the sandbox of an installer";
    plan->jail.scratch_size = "1280m";
    plan->jail.scratch_inodes = "110000";
    plan->jail.scratch = scratch;
    plan->jail.scratch_count = ARRAY_LENGTH(scratch);
    plan->jail.shown = spec->shown;
    plan->jail.shown_count = spec->shown_count;
    plan->jail.host_network = spec->network;
    plan->jail.nice = INSTALL_NICE;
    plan->jail.path_rights = install_rights;
    plan->jail.path_rights_count = ARRAY_LENGTH(install_rights);
    plan_add_rlimit(&plan->jail, RLIMIT_NPROC, INSTALL_PROCESSES_MAX);
    plan_add_rlimit(&plan->jail, RLIMIT_NOFILE, INSTALL_FILES_MAX);
    plan_add_rlimit(&plan->jail, RLIMIT_FSIZE, INSTALL_FILE_SIZE_MAX);
    plan_add_rlimit(&plan->jail, RLIMIT_DATA, install_memory());
    plan_add_rlimit(&plan->jail, RLIMIT_AS, RLIM_INFINITY);
    return plan_program(plan, spec->program);
}

static void plan_unpack(struct image_plan *plan)
{
    plan->jail.subject = "the sandbox in which an image is unpacked";
    plan->jail.path_rights = unpack_rights;
    plan->jail.path_rights_count = ARRAY_LENGTH(unpack_rights);
    plan->jail.body = perform;
    plan->jail.body_data = plan;
    plan->jail.body_fds = plan->spec->fds;
    plan->jail.body_fd_count = plan->spec->fd_count;
    plan_add_rlimit(&plan->jail, RLIMIT_AS, UNPACK_MEMORY_MAX);
}

static int plan_root(struct image_plan *plan, struct fault *fault)
{
    OWNED(rootfs_close) struct rootfs rootfs = ROOTFS_NONE;
    int r = rootfs_open(plan->spec->root, &rootfs, fault);
    plan->jail.root_path = plan->spec->root;
    plan->jail.root_layers = plan->spec->layers;
    plan->jail.root_is_writable = true;
    plan->jail.root_device = rootfs.device;
    plan->jail.root_inode = rootfs.inode;
    return r;
}

static enum tier allowed_tier(void)
{
    const char *allowed = getenv(IMAGE_TIER_VARIABLE);
    for (enum tier tier = TIER_P; allowed != NULL && tier < TIER_COUNT; tier++)
        if (strcmp(allowed, tier_name(tier)) == 0)
            return tier == TIER_P || (tier == TIER_C) == (geteuid() == 0) ? tier : TIER_F;
    return TIER_F;
}

bool image_plan_has_mounts(void)
{
    return allowed_tier() < TIER_C;
}

int image_plan_check_programs(struct fault *fault)
{
    return allowed_tier() != TIER_L
               ? 0
               : fault_set(fault, EOPNOTSUPP,
                           "packages are installed by programs of the image, which expect it at /, "
                           "and in tier L it is not: fetch an image from a registry (fetch python "
                           "--source registry) or an archive (--from), or copy "
                           "~/.local/share/code-sandbox-mcp from another machine");
}

static int plan_filters(struct image_plan *plan, enum tier tier, struct fault *fault)
{
    const struct image_jail *spec = plan->spec;
    if (spec->program == NULL) {
        int r = filter_compile_unpack(&plan->filter, fault);
        return r == 0 ? filter_additions_compile_unpack(tier, &plan->additions, fault) : r;
    }
    int r = filter_compile_build(&plan->filter, fault);
    if (r == 0)
        r = filter_additions_compile_build(tier, spec->network, &plan->additions, fault);
    plan->jail.filters_program = plan->jail.base == BASE_CHROOT;
    return r;
}

int image_plan_build(const struct image_jail *spec, struct image_plan *ret_plan,
                     struct fault *fault)
{
    struct image_plan *plan = ret_plan;
    *plan = (struct image_plan){.spec = spec};
    struct jail_host host = {.tier = allowed_tier()};
    if (spec->layers != NULL && !image_plan_has_mounts())
        return fault_set(fault, EOPNOTSUPP, "an overlayfs needs mounts, which this host refuses");
    int r = spec->program != NULL ? image_plan_check_programs(fault) : 0;
    if (r == 0)
        r = jail_host_read(&host, fault);
    if (r == 0)
        r = jail_host_check_tier(&host, false, fault);
    if (r == 0)
        r = core_pattern_check(fault);
    if (r == 0)
        r = plan_root(plan, fault);
    if (r < 0)
        return r;
    plan_base_fill(&plan->jail, spec->program != NULL ? JAIL_INSTALL : JAIL_UNPACK, &host);
    plan->jail.rlimits = plan->rlimits;
    plan_add_base_rlimits(&plan->jail);
    if (spec->program == NULL)
        plan_unpack(plan);
    else if (plan_install(plan) < 0)
        return fault_set(fault, ENOMEM, "out of memory for the plan of an installer");
    r = plan_filters(plan, host.tier, fault);
    filter_give(&plan->jail, &plan->filter, &plan->additions);
    return r;
}

void image_plan_release(struct image_plan *plan)
{
    for (char **program = plan->programs; program != NULL && *program != NULL; program++)
        free(*program);
    free(plan->programs);
    free(plan->argv);
    filter_release(&plan->filter);
    filter_additions_release(&plan->additions);
}
