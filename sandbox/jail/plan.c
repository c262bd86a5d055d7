#include "sandbox/jail/plan.h"

#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/core_pattern.h"
#include "sandbox/jail/id_map.h"
#include "sandbox/jail/plan_pack.h"
#include "sandbox/jail/plan_state.h"
#include "sandbox/jail/rootfs.h"
#include "sandbox/limits/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define JAIL_HOME RUN_HOME
#define JAIL_WORK RUN_WORK
#define JAIL_TEMPORARY RUN_TEMPORARY
#define PROGRAMS "/" RUN_PROGRAMS_PATH "/" /* below the home directory: parcel_format.h */
#define MOUNT_OPTIONS_MAX 4095 /* a page with its NUL: mount(2) */

static const struct plan_scratch scratch[] = {
    {"work", JAIL_WORK, 0755, true},
    {"tmp", JAIL_TEMPORARY, 01777, true},
    {"home", JAIL_HOME, 0755, true},
    {"shm", "/dev/shm", 01777, false},
};

/* The same as the mounts allow: the root is read-only, these are not. */
static const struct plan_path_rights path_rights[] = {
    {"/", RIGHTS_READ},
    {JAIL_WORK, RIGHTS_KEEP_FILES},
    {JAIL_TEMPORARY, RIGHTS_KEEP_FILES},
    {JAIL_HOME, RIGHTS_KEEP_FILES},
    {"/dev/shm", RIGHTS_KEEP_DATA},
    {"/dev/null", RIGHTS_WRITE},
    {"/dev/zero", RIGHTS_WRITE},
    {"/dev/full", RIGHTS_WRITE},
    {"/dev/pts", RIGHTS_TERMINALS}, /* the last: only where there are namespaces */
};

/* What every program gets; the image and the operator may add to it and replace it. */
static const char *const base_environment[] = {
    "PATH=" JAIL_PATH, "HOME=" JAIL_HOME, "USER=sandbox", "LOGNAME=sandbox", "LANG=C.UTF-8",
};

static size_t list_length(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return count;
}

/* Whether two NAME=VALUE texts have the same NAME. */
static bool same_variable(const char *one, const char *other)
{
    size_t length = strcspn(one, "=");
    return strncmp(one, other, length) == 0 && other[length] == '=';
}

static int set_variable(struct plan *plan, char **environment, size_t *count, const char *variable)
{
    char *copy = text_list_add(&plan->texts, "%s", variable);
    if (copy == NULL)
        return -ENOMEM;
    size_t at = 0;
    while (at < *count && !same_variable(variable, environment[at]))
        at++;
    environment[at] = copy;
    if (at == *count)
        (*count)++;
    return 0;
}

static int plan_environment(struct plan *plan, const struct run_spec *spec)
{
    size_t extra = list_length(spec->environment);
    plan->environment = calloc(ARRAY_LENGTH(base_environment) + extra + 1, sizeof(char *));
    if (plan->environment == NULL)
        return -ENOMEM;
    size_t count = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(base_environment); i++)
        r = set_variable(plan, plan->environment, &count, base_environment[i]);
    for (size_t i = 0; r == 0 && i < extra; i++)
        r = set_variable(plan, plan->environment, &count, spec->environment[i]);
    plan->jail.environment = plan->environment;
    return r;
}

/* A program that comes with the run, and not in its image. */
static bool is_in_work(const char *name)
{
    return strncmp(name, "./", 2) == 0 || strncmp(name, RUN_WORK "/", strlen(RUN_WORK "/")) == 0;
}

/*
 * The program is looked for here where there is one directory; in layers, whose sum only the jail
 * sees, all places where it may be are left to the child.
 */
static int plan_programs(struct plan *plan, const struct run_spec *spec,
                         const struct rootfs *rootfs, struct fault *fault)
{
    const char *name = spec->argv[0];
    static const char *const directories[] = {ROOTFS_PROGRAM_DIRECTORIES};
    plan->programs = calloc(ARRAY_LENGTH(directories) + 1, sizeof(char *));
    if (plan->programs == NULL)
        return -ENOMEM;
    plan->jail.programs = plan->programs;
    if (spec->program_count > 0 && is_in_work(name)) {
        plan->programs[0] = text_list_add(&plan->texts, "%s", name);
        return plan->programs[0] != NULL ? 0 : -ENOMEM;
    }
    if (plan->jail.root_layers == NULL || name[0] == '/') {
        OWNED_MEMORY char *program = NULL;
        int r =
            plan->jail.root_layers != NULL ? 0 : rootfs_find_program(rootfs, name, &program, fault);
        if (r == 0)
            plan->programs[0] = text_list_add(&plan->texts, "%s", program != NULL ? program : name);
        return r < 0 ? r : (plan->programs[0] != NULL ? 0 : -ENOMEM);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        plan->programs[i] = text_list_add(&plan->texts, "%s/%s", directories[i], name);
        if (plan->programs[i] == NULL)
            return -ENOMEM;
    }
    return 0;
}

/* The work directory may have anything when its program starts, files of its name as well. */
static bool is_beside_work(const struct run_spec *spec)
{
    return spec->session == SESSION_FRESH || spec->joins_session;
}

static int plan_arguments(struct plan *plan, const struct run_spec *spec,
                          const struct rootfs *rootfs, struct fault *fault)
{
    size_t own = list_length(spec->argv);
    size_t count = own + list_length(spec->arguments);
    if (own == 0 || count > ARGUMENTS_MAX)
        return fault_set(fault, E2BIG, "a program needs 1 to %d arguments, not %zu", ARGUMENTS_MAX,
                         count);
    int r = plan_programs(plan, spec, rootfs, fault);
    if (r < 0) {
        fault_prefix(fault, "image %s", spec->image);
        return r;
    }
    plan->argv = calloc(count + 1, sizeof(char *));
    if (plan->argv == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const char *text = i < own ? spec->argv[i] : spec->arguments[i - own];
        if (i == 0 && plan->programs[1] == NULL)
            text = plan->programs[0];
        bool is_code = is_beside_work(spec) && strcmp(text, spec->code_name) == 0;
        plan->argv[i] =
            text_list_add(&plan->texts, "%s%s", is_code ? JAIL_HOME PROGRAMS : "", text);
        if (plan->argv[i] == NULL)
            return -ENOMEM;
    }
    plan->jail.argv = plan->argv;
    return 0;
}

/* A path from an image's description must stay below $HOME. */
static bool is_plain_relative(const char *path)
{
    if (path[0] == '\0' || path[0] == '/')
        return false;
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += part[0] == '/';
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && strncmp(part, "..", 2) == 0))
            return false;
    }
    return true;
}

static int plan_home_links(struct plan *plan, const struct run_spec *spec, struct fault *fault)
{
    plan->home_links = calloc(spec->home_link_count + 1, sizeof(struct plan_link));
    if (plan->home_links == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < spec->home_link_count; i++) {
        if (!is_plain_relative(spec->home_links[i].path))
            return fault_set(fault, EINVAL,
                             "image %s asks for a link \"%s\" in the home directory; it must be a "
                             "relative path without . and ..",
                             spec->image, spec->home_links[i].path);
        plan->home_links[i].path = text_list_add(&plan->texts, "%s", spec->home_links[i].path);
        plan->home_links[i].target = text_list_add(&plan->texts, "%s", spec->home_links[i].target);
        if (plan->home_links[i].path == NULL || plan->home_links[i].target == NULL)
            return -ENOMEM;
    }
    plan->jail.home_links = plan->home_links;
    plan->jail.home_link_count = spec->home_link_count;
    return 0;
}

/* The same as the forks have, and those that make it a template. */
static int plan_template_files(struct plan *plan, const struct run_spec *spec)
{
    const struct run_template *source = &spec->template;
    plan->template = *source;
    if (source->file_count == 0)
        return 0;
    plan->template_files =
        calloc(plan->fork_file_count + source->file_count, sizeof(struct plan_file));
    if (plan->template_files == NULL)
        return -ENOMEM;
    memcpy(plan->template_files, plan->home_files,
           plan->fork_file_count * sizeof(struct plan_file));
    for (size_t i = 0; i < source->file_count; i++)
        plan->template_files[plan->fork_file_count + i] = (struct plan_file){
            source->files[i].path, source->files[i].bytes, source->files[i].length};
    return 0;
}

static int plan_home_files(struct plan *plan, const struct run_spec *spec)
{
    plan->home_files = calloc(spec->home_file_count + 1, sizeof(struct plan_file));
    if (plan->home_files == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < spec->home_file_count; i++) {
        const struct home_file *file = &spec->home_files[i];
        plan->home_files[i] =
            (struct plan_file){file->path, file->bytes, file->length, file->is_executable};
        plan->jail.home_file_count += !file->warm_only;
        plan->fork_file_count += !file->is_start;
    }
    plan->jail.home_files = plan->home_files;
    plan->warm_file_count = spec->home_file_count;
    return plan_template_files(plan, spec);
}

/*
 * What a run may use together is not for this limit, but for cgroups or the limiter. It only keeps a
 * single process from running away from a limiter by more than the machine has.
 */
static uint64_t data_bound(const struct run_limits *limits)
{
    long pages = sysconf(_SC_PHYS_PAGES); /* -1: not told */
    uint64_t machine = pages < 0 ? 0 : (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return machine > limits->memory_bytes ? machine : limits->memory_bytes;
}

static void plan_rlimits(struct plan *plan, const struct run_spec *spec)
{
    const struct run_limits *limits = &spec->limits;
    /* All the processor time that any run may have: a last resort, should the timers fail. */
    int64_t wall_ms = spec->wall_max_ms > limits->wall_ms ? spec->wall_max_ms : limits->wall_ms;
    uint64_t cpu_seconds =
        (uint64_t)(wall_ms / 1000 + 1) * limits->millicpus / 1000 + RUN_CPU_GRACE_S;
    plan->jail.rlimits = plan->rlimits;
    plan_add_base_rlimits(&plan->jail);
    plan_add_rlimit(&plan->jail, RLIMIT_NOFILE, limits->descriptors);
    /*
     * Counted from 0 in this user namespace since Linux 5.14; pid 1 is one of them. One more, so that a
     * run which wants more than it may have can be told from one that does not.
     */
    plan_add_rlimit(&plan->jail, RLIMIT_NPROC, limits->processes + RUN_PROCESSES_BESIDE);
    plan_add_rlimit(&plan->jail, RLIMIT_DATA, data_bound(limits));
    plan_add_rlimit(&plan->jail, RLIMIT_FSIZE, limits->disk_bytes);
    plan_add_rlimit(&plan->jail, RLIMIT_AS, RLIM_INFINITY); /* V8 reserves tens of gigabytes */
    /* The kernel counts over the life of a process, which a session may keep for hours. */
    bool is_session = spec->session != SESSION_NONE;
    plan_add_rlimit(&plan->jail, RLIMIT_CPU, is_session ? RLIM_INFINITY : cpu_seconds);
}

/* What its mount allows. Singly, as all members of elements with room between them: jail_plan.def. */
static void add_folder_rights(struct jail_plan *jail, struct plan_path_rights *list,
                              const struct folder *folder)
{
    struct plan_path_rights *rights = &list[jail->path_rights_count++];
    rights->path = folder->place;
    rights->rights = folder->mode == FOLDER_OVERLAY ? RIGHTS_KEEP_FILES : RIGHTS_SHARE_FILES;
}

static int plan_folders(struct plan *plan, const struct folders *folders)
{
    struct jail_plan *jail = &plan->jail;
    size_t count = folders != NULL ? folders->count : 0;
    plan->path_rights = calloc(ARRAY_LENGTH(path_rights) + count, sizeof(*plan->path_rights));
    plan->folders = calloc(count + 1, sizeof(*plan->folders));
    if (plan->path_rights == NULL || plan->folders == NULL)
        return -ENOMEM;
    memcpy(plan->path_rights, path_rights, sizeof(path_rights));
    jail->path_rights = plan->path_rights;
    jail->path_rights_count = ARRAY_LENGTH(path_rights) - (jail->base != BASE_NAMESPACES);
    jail->folders = plan->folders;
    jail->folder_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct folder *folder = &folders->list[i];
        struct plan_folder *planned = &plan->folders[i];
        planned->path = folder->path;
        planned->device = folder->device;
        planned->inode = folder->inode;
        planned->mode = folder->mode;
        planned->place = folder->place;
        planned->may_cover = folder->place_is_given;
        planned->is_in_scratch = folder_is_in_scratch(folder->place);
        if (folder->mode != FOLDER_READ_ONLY)
            add_folder_rights(jail, plan->path_rights, folder);
    }
    return 0;
}

/* The options of an overlayfs, whose first directory is the top. */
static int plan_layers(struct plan *plan, const struct run_spec *spec, struct fault *fault)
{
    OWNED(buffer_release) struct buffer options = BUFFER(MOUNT_OPTIONS_MAX);
    size_t count = list_length(spec->layers);
    int r = buffer_append_text(&options, "userxattr,lowerdir=");
    for (size_t i = count; r == 0 && i > 0; i--) {
        const char *layer = spec->layers[i - 1];
        if (layer[0] == '\0' || layer[0] == '/' || strpbrk(layer, ",:\\") != NULL)
            return fault_set(fault, EINVAL, "image %s has a layer of the strange name \"%s\"",
                             spec->image, layer);
        r = buffer_format(&options, "%s%s", layer, i > 1 ? ":" : "");
    }
    if (r == -ENOBUFS)
        return fault_set(fault, E2BIG, "image %s has more layers than can be mounted", spec->image);
    const char *text = r == 0 ? buffer_string(&options) : NULL;
    plan->jail.root_layers = text != NULL ? text_list_add(&plan->texts, "%s", text) : NULL;
    return plan->jail.root_layers != NULL ? 0 : -ENOMEM;
}

static int plan_files(struct plan *plan, const struct run_spec *spec, const struct rootfs *rootfs)
{
    struct jail_plan *jail = &plan->jail;
    jail->root_path = text_list_add(&plan->texts, "%s", rootfs->path);
    jail->root_device = rootfs->device;
    jail->root_inode = rootfs->inode;
    jail->scratch_size = text_list_add(&plan->texts, "%" PRIu64, spec->limits.disk_bytes);
    jail->scratch_inodes = text_list_add(&plan->texts, "%" PRIu64, spec->limits.inodes);
    jail->code_name =
        text_list_add(&plan->texts, "%s%s", is_beside_work(spec) ? PROGRAMS : "", spec->code_name);
    if (jail->root_path == NULL || jail->scratch_size == NULL || jail->scratch_inodes == NULL ||
        jail->code_name == NULL)
        return -ENOMEM;
    if (spec->packages != NULL &&
        (jail->packages = text_list_add(&plan->texts, "%s", spec->packages)) == NULL)
        return -ENOMEM;
    jail->scratch = scratch;
    jail->scratch_count = ARRAY_LENGTH(scratch);
    jail->home = JAIL_HOME;
    jail->temporary = JAIL_TEMPORARY;
    jail->work_directory = JAIL_WORK;
    jail->session = spec->session;
    jail->has_calls = spec->has_calls;
    jail->keeps_running = spec->keeps_running;
    jail->joins_output = spec->joins_output;
    if (spec->directory != NULL &&
        (jail->program_directory = text_list_add(&plan->texts, "%s", spec->directory)) == NULL)
        return -ENOMEM;
    jail->has_stdin = spec->session != SESSION_NONE || spec->stdin_source.kind != STDIN_EMPTY;
    return 0;
}

static int plan_fill(struct plan *plan, const struct plan_inputs *inputs, struct fault *fault)
{
    const struct run_spec *spec = inputs->spec;
    plan_base_fill(&plan->jail, JAIL_RUN, inputs->host);
    plan->jail.uid = JAIL_UID;
    plan->jail.gid = JAIL_GID;
    /* With a filter refusing signals, init could not end the program. */
    plan->jail.filters_program =
        inputs->host->tier == TIER_L && inputs->host->landlock_abi < LANDLOCK_SCOPES;
    if ((plan->jail.subject =
             text_list_add(&plan->texts, "the sandbox for image %s", spec->image)) == NULL)
        return -ENOMEM;
    OWNED(rootfs_close) struct rootfs rootfs = ROOTFS_NONE;
    bool has_folders = spec->folders != NULL && spec->folders->count > 0;
    int r = jail_host_check_tier(inputs->host, has_folders, fault);
    if (r == 0)
        r = core_pattern_check(fault);
    if (r == 0)
        r = rootfs_open(spec->rootfs, &rootfs, fault);
    if (r == 0 && spec->layers != NULL)
        r = plan_layers(plan, spec, fault);
    if (r == 0)
        r = plan_files(plan, spec, &rootfs);
    if (r == 0)
        r = plan_arguments(plan, spec, &rootfs, fault);
    if (r == 0)
        r = plan_environment(plan, spec);
    if (r == 0)
        r = plan_home_links(plan, spec, fault);
    if (r == 0)
        r = plan_home_files(plan, spec);
    if (r == 0)
        r = plan_folders(plan, spec->folders);
    plan_rlimits(plan, spec);
    return r;
}

static int plan_key(struct plan *plan)
{
    struct jail_plan jail = plan->jail;
    jail.home_file_count = plan->warm_file_count;
    plan->key = BUFFER(SIZE_MAX); /* no more than the texts that the plan has already */
    return plan_pack_key(&jail, &plan->key);
}

int plan_build(const struct plan_inputs *inputs, struct plan **ret_plan, struct fault *fault)
{
    struct plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the plan of a sandbox");
    int r = plan_fill(plan, inputs, fault);
    if (r == 0)
        r = plan_key(plan);
    if (r < 0) {
        plan_free(plan);
        return fault_set(fault, -r, "cannot plan a sandbox: %m");
    }
    *ret_plan = plan;
    return 0;
}

void plan_free(struct plan *plan)
{
    if (plan == NULL)
        return;
    text_list_release(&plan->texts);
    buffer_release(&plan->key);
    free(plan->home_links);
    free(plan->home_files);
    free(plan->template_files);
    free(plan->folders);
    free(plan->path_rights);
    free(plan->argv);
    free(plan->programs);
    free(plan->environment);
    free(plan);
}

/* Most often those of one image, at one place. */
static bool same_contents(const struct plan_file *one, const struct plan_file *other, size_t count)
{
    bool same = true;
    for (size_t i = 0; same && i < count; i++)
        same = one[i].length == other[i].length && one[i].is_executable == other[i].is_executable &&
               strcmp(one[i].path, other[i].path) == 0 &&
               (one[i].bytes == other[i].bytes ||
                memcmp(one[i].bytes, other[i].bytes, one[i].length) == 0);
    return same;
}

static size_t template_file_count(const struct plan *plan)
{
    return plan->template_files != NULL ? plan->fork_file_count + plan->template.file_count : 0;
}

bool plan_is_same(const struct plan *one, const struct plan *other)
{
    return one->key.length == other->key.length &&
           memcmp(one->key.data, other->key.data, one->key.length) == 0 &&
           same_contents(one->home_files, other->home_files, one->warm_file_count) &&
           template_file_count(one) == template_file_count(other) &&
           same_contents(one->template_files, other->template_files, template_file_count(one));
}

void plan_make_warm(struct plan *plan)
{
    /* A session is warm when its program waits for a cell. */
    plan->jail.is_warm = plan->jail.session == SESSION_NONE;
    plan->jail.home_file_count = plan->warm_file_count;
}

bool plan_has_folder(const struct jail_plan *jail, enum folder_mode mode)
{
    for (size_t i = 0; i < jail->folder_count; i++)
        if (jail->folders[i].mode == mode)
            return true;
    return false;
}

struct jail_plan *plan_jail(struct plan *plan)
{
    return &plan->jail;
}

void plan_set_filter(struct plan *plan, const struct filter *filter,
                     const struct filter_additions *additions)
{
    filter_give(&plan->jail, filter, additions);
}
