#include "sandbox/jail/setup_error.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/remedy.h"
#include "sandbox/jail/rlimits.h"

#include <stdio.h>
#include <string.h>

#define ERRNO_MAX 4095 /* include/linux/err.h */

static const struct {
    const char *name;
    const char *text;
} steps[STEP_COUNT] = {
#define STEP(id, name, jails, bases, text) [STEP_##id] = {#name, text},
#define PART(id, name, text) [STEP_##id] = {#name, text},
#include "sandbox/jail/child/steps.def"
#undef STEP
#undef PART
};

#define IMAGE_HELP                                                                                 \
    "the image is damaged or was changed; fetch it again with "                                    \
    "`code-sandbox-mcp fetch --force`"

static const char *rlimit_name(int resource)
{
    const struct rlimit_row *row = rlimit_find(resource);
    return row != NULL ? row->name : "of that number";
}

static const char *name_at(const char *const *list, size_t index)
{
    size_t i = 0;
    while (list != NULL && list[i] != NULL && i < index)
        i++;
    return list != NULL && list[i] != NULL ? list[i] : "";
}

/* The object of the failed step; "" if the text needs none. */
static const char *step_object(const struct jail_plan *plan, const struct child_report *report)
{
    size_t index = report->index < 0 ? SIZE_MAX : (size_t)report->index;
    switch ((enum jail_step)report->step) {
    case STEP_ENTER_LAYERS:
    case STEP_OPEN_ROOT:
    case STEP_OPEN_CHROOT:
    case STEP_REMOUNT_ROOT_READ_ONLY:
        return plan->root_path;
    case STEP_FILL_DEV:
        if (index < plan->device_count)
            return plan->devices[index].name;
        index -= index == SIZE_MAX ? 0 : plan->device_count;
        return index < plan->dev_link_count ? plan->dev_links[index].path : "";
    case STEP_USER_LIMIT:
        return index < plan->user_limit_count ? plan->user_limits[index].path : "";
    case STEP_MASK_FILE:
        return name_at(plan->masks, index);
    case STEP_SPLIT_SCRATCH:
    case STEP_MOUNT_SCRATCH:
        return index < plan->scratch_count ? plan->scratch[index].target : "";
    case STEP_OPEN_FOLDER:
    case STEP_MAKE_FOLDER:
    case STEP_MOUNT_FOLDER:
        return index < plan->folder_count ? plan->folders[index].path : "";
    case STEP_PROTECT_FOLDER:
        return index < plan->folder_part_count ? plan->folder_parts[index].path : "";
    case STEP_MAKE_PLACE:
        return index < plan->folder_count ? plan->folders[index].place : "";
    case STEP_SHOW_FILE:
        return index < plan->shown_count ? plan->shown[index].host_path : "";
    case STEP_FILL_HOME:
        if (index < plan->home_link_count)
            return plan->home_links[index].path;
        index -= index == SIZE_MAX ? 0 : plan->home_link_count;
        return index < plan->home_file_count ? plan->home_files[index].path : plan->home;
    case STEP_WORK_DIRECTORY:
        return plan->work_directory;
    case STEP_PROGRAM_DIRECTORY:
        return plan->program_directory != NULL ? plan->program_directory : "";
    case STEP_RLIMIT:
        return index < plan->rlimit_count ? rlimit_name(plan->rlimits[index].resource) : "";
    case STEP_CHOOSE_PATHS:
        return index < plan->path_rights_count ? plan->path_rights[index].path : "";
    case STEP_MAKE_CODE_FIFO:
    case STEP_WRITE_CODE:
        return plan->code_name;
    case STEP_EXECUTE:
        return plan->argv[0];
    default:
        return "";
    }
}

static const char *folder_remedy(enum jail_step step, int error)
{
    bool is_other = error == ESTALE || error == ENOENT || error == ENOTDIR || error == ELOOP;
    if (step == STEP_OPEN_FOLDER)
        return is_other          ? "it was moved or replaced since this server started: restart it"
               : error == EACCES ? "may the user of the sandbox enter every directory above it? A "
                                   "server started by root runs snippets as another user"
                                 : NULL;
    if (step == STEP_PROTECT_FOLDER && is_other)
        return "it was moved or replaced meanwhile, perhaps by a snippet that runs beside it: run "
               "again";
    if (step == STEP_MAKE_PLACE)
        return error == EEXIST ? "the image has a directory of that path: give the folder another "
                                 "place with --mount FOLDER@/PATH"
               : error == ELOOP || error == ENOTDIR
                   ? "the image has a link or a file on that path: give the folder another place "
                     "with --mount FOLDER@/PATH"
                   : NULL;
    return error == EINVAL
               ? "the kernel refuses a folder below which something else is mounted, and "
                 "an overlay in an overlay of overlays: mount a folder without other "
                 "mounts below"
           : error == EPERM || error == ENODEV
               ? "folders need overlayfs in a user namespace (Linux 5.11, `modprobe overlay`)"
               : NULL;
}

static bool is_of_folders(enum jail_step step)
{
    return step == STEP_OPEN_FOLDER || step == STEP_MAKE_FOLDER || step == STEP_MAKE_PLACE ||
           step == STEP_MOUNT_FOLDER || step == STEP_PROTECT_FOLDER;
}

static const char *step_remedy(enum jail_step step, int error)
{
    switch (step) {
    case STEP_OPEN_ROOT:
        return error == ESTALE   ? "the image was replaced meanwhile: run again"
               : error == EACCES ? "may this user enter every directory above it?"
                                 : IMAGE_HELP;
    case STEP_ENTER_LAYERS:
        return error == EACCES ? "may this user enter every directory above it?" : IMAGE_HELP;
    case STEP_MOUNT_LAYERS:
        return error == ENOENT || error == ENOTDIR ? IMAGE_HELP
                                                   : "images with added layers need overlayfs in a "
                                                     "user namespace (Linux 5.11, `modprobe "
                                                     "overlay`), and a store on a file system "
                                                     "that it can read";
    case STEP_MOUNT_PROC:
    case STEP_FILL_DEV:
    case STEP_MOUNT_SCRATCH:
        /* EINVAL: mounting a directory over something else */
        return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EINVAL ? IMAGE_HELP
                                                                                        : NULL;
    case STEP_PIVOT_ROOT:
        return error == EINVAL ? PIVOT_HELP : NULL;
    case STEP_EXECUTE:
    case STEP_FILL_HOME:
        return error == E2BIG
                   ? "shorten its arguments and variables, or pass them on stdin or in a "
                     "file"
               : error == ENOENT || error == ENOTDIR || error == ENOEXEC ? IMAGE_HELP
                                                                         : NULL;
    case STEP_WRITE_CODE:
        return error == ENOSPC || error == EFBIG ? "the code is larger than the disk limit" : NULL;
    case STEP_WRITE_FILES:
        return error == ENOSPC || error == EFBIG
                   ? "the code and the files together are larger than the disk limit (--disk): send "
                     "less"
               : error == ENOSYS || error == EPERM
                   ? "the profile of --seccomp-profile refuses a call that this needs"
                   : NULL;
    case STEP_RLIMIT:
        return error == EPERM ? "the limit that this program itself was started with is lower; "
                                "see `ulimit -a`"
                              : NULL;
    case STEP_FORK:
        return error == EAGAIN    ? PROCESSES_HELP
               : error == EBADMSG ? "descriptors did not arrive; does the profile of "
                                    "--seccomp-profile refuse recvmsg(2)?"
                                  : NULL;
    default:
        return NULL;
    }
}

static int explain(const struct jail_plan *plan, const struct child_report *report,
                   const char *object, struct fault *fault)
{
    bool is_known = report->step < STEP_COUNT;
    fault_identify(fault, is_known ? steps[report->step].name : "set_up");
    enum jail_step step = (enum jail_step)report->step;
    const char *remedy =
        is_of_folders(step) ? folder_remedy(step, report->error) : step_remedy(step, report->error);
    /* The child is not trusted: only a value in the errno range is an errno. */
    int error = report->error > 0 && report->error <= ERRNO_MAX ? report->error : EIO;
    struct remedy_clause of_host = {.text = ""};
    if (remedy == NULL || error == EACCES)
        of_host = remedy_clause(step, error);
    if (of_host.text[0] != '\0')
        remedy = NULL;
    return fault_set(fault, error, "%s could not %s%s%s: %s%s%s%s", plan->subject,
                     is_known ? steps[report->step].text : "be set up",
                     object[0] != '\0' ? " " : "", object, strerror(error),
                     remedy != NULL ? "; " : "", remedy != NULL ? remedy : "", of_host.text);
}

int setup_error_explain(const struct jail_plan *plan, const struct child_report *report,
                        struct fault *fault)
{
    return explain(plan, report, step_object(plan, report), fault);
}

int setup_error_explain_run(const struct jail_plan *plan, const struct child_report *report,
                            const struct parcel *parcel, struct fault *fault)
{
    if (report->step != STEP_WRITE_FILES || report->index < 0)
        return setup_error_explain(plan, report, fault);
    return explain(plan, report, parcel_name(parcel, (size_t)report->index), fault);
}

int setup_error_explain_clone(int error, struct fault *fault)
{
    const struct remedy_clause remedy = remedy_clause(STEP_CLONE, error);
    fault_identify(fault, "clone");
    return fault_set(fault, error, "cannot make the namespaces of a sandbox: %s%s", strerror(error),
                     remedy.text);
}

unsigned setup_error_step(const char *id)
{
    /* What the parent does before and between the steps of the child. */
    static const struct {
        const char *id;
        unsigned step;
    } own[] = {
        {"clone", STEP_CLONE}, {"detach_root", STEP_NAMESPACES}, {"map_ids", STEP_WAIT_FOR_ID_MAP}};
    if (id == NULL)
        return STEP_BEFORE;
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        if (strcmp(own[i].id, id) == 0)
            return own[i].step;
    }
    unsigned step = 0;
    while (step < STEP_COUNT && strcmp(steps[step].name, id) != 0)
        step++;
    return step < STEP_COUNT ? step : STEP_BEFORE;
}
