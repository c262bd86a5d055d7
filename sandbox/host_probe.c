#include "sandbox/host_probe.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/jail/filter.h"
#include "sandbox/jail/id_map.h"
#include "sandbox/jail/plan.h"
#include "sandbox/jail/sandbox.h"
#include "sandbox/jail/setup_error.h"
#include "sandbox/roots/chroot_tree.h"
#include "sandbox/roots/relocation.h"
#include "sandbox/roots/spare_ids.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WAIT_MAX_MS 5000
#define PROGRAM "program"

/* What each image has: mount points, and a program. This one is an empty file. */
static const char *const directories[] = {"bin",  "dev", "home",      &RUN_HOME[1],
                                          "proc", "tmp", &RUN_WORK[1]};

/* Under a root server the jail's user must be able to search it. */
static int fill_root(const char *path)
{
    OWNED_FD int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || chmod(path, 0755) < 0)
        return -errno;
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        if (mkdirat(root, directories[i], 0755) < 0 || fchmodat(root, directories[i], 0755, 0) < 0)
            return -errno;
    }
    OWNED_FD int program =
        openat(root, "bin/" PROGRAM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    return program < 0 || fchmod(program, 0755) < 0 ? -errno : 0;
}

static int build_plan(const char *root, enum tier tier, struct plan **ret_plan, int *ret_landlock,
                      struct fault *fault)
{
    static const char *const argv[] = {PROGRAM, NULL};
    const struct run_spec spec = {
        .image = "(none)",
        .rootfs = root,
        .argv = argv,
        .code_name = "code",
        .code = "",
        .limits = run_limits_default(),
    };
    struct jail_host host = {.tier = tier};
    const struct plan_inputs inputs = {&spec, &host};
    int r = jail_host_read(&host, fault);
    *ret_landlock = host.landlock_abi;
    return r == 0 ? plan_build(&inputs, ret_plan, fault) : r;
}

/* The report of a failure: of the program, at the latest. */
static int await_failure(struct sandbox *sandbox, struct child_report *ret_report)
{
    struct pollfd watch = {.fd = sandbox->control_fd, .events = POLLIN};
    int64_t end = clock_now() + WAIT_MAX_MS * NANOSECONDS_PER_MILLISECOND;
    while (clock_now() < end) {
        int r = sandbox_read_report(sandbox, ret_report);
        if (r == 0 && ret_report->kind == REPORT_FAILED)
            return 0;
        if (r < 0 && r != -EAGAIN)
            return r;
        if (r == -EAGAIN)
            poll(&watch, 1, (int)((end - clock_now()) / NANOSECONDS_PER_MILLISECOND) + 1);
    }
    return -ETIME;
}

/* What a jail without mounts has in its root, which is the directory of the attempt. */
static int prepare_root(struct jail_plan *plan, struct spare_ids *ids,
                        struct relocation *relocation, struct fault *fault)
{
    if (plan->base == BASE_NAMESPACES)
        return 0;
    int r = plan->base == BASE_CHROOT ? spare_ids_take(ids, fault)
                                      : relocation_place(relocation, plan->root_path, plan, fault);
    if (r < 0)
        return r;
    plan->own_uid = plan->own_gid = ids->uid;
    plan->init_uid = ids->init_uid;
    plan->guard_uid = ids->guard_uid;
    OWNED_FD int root_fd = open(plan->root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root_fd < 0 ? fault_set(fault, errno, "cannot open %s: %m", plan->root_path)
                       : chroot_tree_renew(root_fd, plan, fault);
}

/* Up to the program. -ENOEXEC or -EACCES with its id "execute": everything else has succeeded. */
static int make_jail(struct plan *plan, struct fault *fault)
{
    OWNED(spare_ids_release) struct spare_ids ids = SPARE_IDS_NONE;
    OWNED(relocation_release) struct relocation relocation = {0};
    OWNED(sandbox_release) struct sandbox sandbox = SANDBOX_NONE;
    struct child_report report;
    struct id_map map;
    char none[] = "";
    const struct parcel parcel = {.bytes = none};
    int r = id_map_choose(&map, fault);
    map.is_mapped = plan_jail(plan)->base == BASE_NAMESPACES;
    if (r == 0)
        r = prepare_root(plan_jail(plan), &ids, &relocation, fault);
    if (r == 0)
        r = sandbox_spawn(plan_jail(plan), &map, -1, &sandbox, fault);
    if (r == 0)
        r = sandbox_feed(&sandbox, &parcel, fault);
    if (r < 0)
        return r;
    r = await_failure(&sandbox, &report);
    return r == 0 ? setup_error_explain(plan_jail(plan), &report, fault)
                  : fault_set(fault, -r, "a sandbox ended while it was being made");
}

/* The weakest tiers are for hosts where nothing else can be had: one for root, the other for everyone else. */
static bool is_for_user(enum tier tier)
{
    return tier < TIER_C || (tier == TIER_C) == (geteuid() == 0);
}

/* Fills the fault, and returns a negative errno in any case: make_jail(). */
static int try_tier(const char *root, enum tier tier, int *ret_landlock, struct fault *fault)
{
    OWNED(filter_release) struct filter filter = {0};
    OWNED(filter_additions_release) struct filter_additions additions = {.count = 0};
    struct plan *plan = NULL;
    int r = build_plan(root, tier, &plan, ret_landlock, fault);
    if (r == 0)
        r = filter_compile_default(NULL, &filter, fault);
    if (r == 0)
        r = filter_additions_compile(tier, *ret_landlock, &additions, fault);
    if (r == 0) {
        plan_set_filter(plan, &filter, &additions);
        r = make_jail(plan, fault);
    }
    plan_free(plan);
    return r;
}

/* The fault and its remedy are those of TIER_F. */
static void try_tiers(const char *root, enum tier weakest, struct host_finding *finding)
{
    struct host_facts facts;
    for (enum tier tier = TIER_F; tier <= weakest && !finding->can_jail; tier++) {
        struct fault fault = {0};
        if (!is_for_user(tier))
            continue;
        int r = try_tier(root, tier, &finding->landlock, &fault);
        unsigned step = setup_error_step(fault.id);
        finding->tier = tier;
        /*
         * EACCES: the directory is on a file system mounted noexec. ENOENT: tier L looks the path up on the host, where
         * the program does not exist.
         */
        finding->can_jail = step == STEP_EXECUTE &&
                            (r == -ENOEXEC || r == -EACCES || (r == -ENOENT && tier == TIER_L));
        if (finding->can_jail)
            continue;
        if (tier != TIER_F) {
            finding->weaker_fault = fault;
            continue;
        }
        finding->fault = fault;
        host_facts_read(&facts);
        remedy_find(step, -r, &facts, &finding->remedy);
    }
}

/* In the first place that can be written to. The path is owned by the caller; NULL: there is none. */
static char *make_root(void)
{
    const char *const places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", getenv("XDG_RUNTIME_DIR"),
                                  "/dev/shm"};
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        OWNED_MEMORY char *path = NULL;
        if (places[i] == NULL || places[i][0] != '/')
            continue;
        if (asprintf(&path, "%s/code-sandbox-probe-XXXXXX", places[i]) < 0) {
            path = NULL;
            return NULL;
        }
        if (mkdtemp(path) != NULL)
            return pointer_take(&path);
    }
    return NULL;
}

int host_probe(enum tier weakest, struct host_finding *ret_finding, struct fault *fault)
{
    *ret_finding = (struct host_finding){.can_jail = false};
    OWNED_MEMORY char *root = make_root();
    if (root == NULL)
        return fault_set(fault, errno,
                         "cannot make a directory for an attempt, neither in $TMPDIR, /tmp and "
                         "/var/tmp nor in $XDG_RUNTIME_DIR and /dev/shm: %m");
    int r = fill_root(root);
    if (r == 0)
        try_tiers(root, weakest, ret_finding);
    tree_remove(AT_FDCWD, root);
    return r < 0 ? fault_set(fault, -r, "cannot fill the directory %s: %m", root) : 0;
}
