#include "images/build/recipe_make.h"

#include "images/build/debian.h"
#include "images/build/installer_output.h"
#include "images/build/npm.h"
#include "images/build/postinstall.h"
#include "images/unpack/package.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/image_plan.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define STATUS_MAX (64 << 10) /* bytes */

/* Makes the links of usrmerge and the directory for control data before any package is unpacked. */
static int tree_prepare(const char *root, struct fault *fault)
{
    static const char *const directories[] = {"usr",       "usr/bin",  "usr/lib",
                                              "usr/lib64", "usr/sbin", SETUP_DIRECTORY};
    OWNED_FD int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return fault_set(fault, errno, "cannot open %s: %m", root);
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
        if (mkdirat(root_fd, directories[i], 0755) < 0)
            return fault_set(fault, errno, "cannot make %s in the image: %m", directories[i]);
    for (const char *const *merged = package_merged_directories; *merged != NULL; merged++) {
        char target[64];
        snprintf(target, sizeof(target), "usr/%s", *merged);
        if (symlinkat(target, root_fd, *merged) < 0)
            return fault_set(fault, errno, "cannot make the link /%s in the image: %m", *merged);
    }
    return 0;
}

/* The packages of a recipe, with Debian's Node.js if the host has no npm. */
struct package_names {
    const char *names[128];
    size_t count;
};

static void package_names_add(struct package_names *list, const char *const *names)
{
    for (; *names != NULL && list->count < ARRAY_LENGTH(list->names) - 1; names++)
        list->names[list->count++] = *names;
}

static void requests_release(char ***requests)
{
    lock_requests_free(*requests);
}

static int packages_download(const struct recipe_making *making, bool debian_node,
                             struct debian_download *ret_download, struct fault *fault)
{
    struct package_names wanted = {0};
    package_names_add(&wanted, making->recipe->packages);
    if (debian_node)
        package_names_add(&wanted, (const char *const[]){"nodejs", "npm", NULL});
    OWNED(requests_release)
    char **locked = making->locked != NULL ? lock_requests(making->locked, LOCK_DEB) : NULL;
    if (making->locked != NULL && locked == NULL)
        return fault_set(fault, ENOMEM, "no memory for the packages of the lock");
    OWNED(buffer_release) struct buffer status = BUFFER(STATUS_MAX);
    const struct debian_request request = {
        .store = making->place->store,
        .packages = locked != NULL ? (const char *const *)locked : wanted.names,
        .suite = DEBIAN_SUITE,
        .locked = making->locked,
        .lock = making->lock,
        .status = &status,
    };
    int r = debian_status_of(making->recipe->left_out, &status, fault);
    return r == 0 ? debian_download(making->place->scratch, &request, making->progress,
                                    ret_download, fault)
                  : r;
}

static int packages_fetch(const struct recipe_making *making, bool debian_node, struct fault *fault)
{
    OWNED(debian_download_release) struct debian_download download = {0};
    struct fault cause = {0};
    int r = packages_download(making, debian_node, &download, &cause);
    bool is_of_host = r == -EINTR || r == -ENOSPC || r == -ETIMEDOUT;
    if (r < 0 && !is_of_host && making->locked != NULL)
        return fault_set(fault, ESTALE, "a package of the lock is no longer available: %s",
                         cause.text);
    if (r < 0)
        return fault_set(fault, -r, "%s", cause.text);
    progress_step(making->progress, "unpacking %zu packages", download.count);
    return unpack_packages(making->place->rootfs, download.fds, download.count, making->progress,
                           fault);
}

/* The packages, while npm runs in parallel. As npm_finish() and packages_fetch(). */
static int packages_fetch_with_npm(const struct recipe_making *making, const struct npm_host *host,
                                   int *ret_npm, struct fault *fault)
{
    OWNED(subprocess_release) struct subprocess npm = SUBPROCESS_NONE;
    const char *locked = making->locked != NULL ? making->locked->npm : NULL;
    int r = npm_start(making->place, host, locked, &npm, fault);
    if (r == 0)
        r = packages_fetch(making, false, fault);
    if (r == 0)
        *ret_npm = npm_finish(making->place, &npm, making->progress, fault);
    return r == 0 && *ret_npm == 0 ? npm_note(making->place->rootfs, making->lock, fault) : r;
}

/* Without npm, or if it fails, uses Debian's Node.js. */
static int node_fetch_either(const struct recipe_making *making, const struct npm_host *host,
                             bool *ret_debian_node, struct fault *fault)
{
    struct fault cause = {0};
    int npm = 0;
    int r = packages_fetch_with_npm(making, host, &npm, &cause);
    if (r < 0 || npm == -EINTR || (npm < 0 && making->locked != NULL))
        return fault_set(fault, r < 0 ? -r : -npm, "%s", cause.text);
    if (npm == 0)
        return 0;
    char line[ANSWER_LINE_SIZE];
    progress_note(making->progress,
                  "note: Node.js comes from Debian, since npm could not bring it: %s",
                  npm_failure(cause.text, line));
    *ret_debian_node = true;
    lock_release(making->lock);
    r = staging_empty(making->place, fault);
    if (r == 0)
        r = tree_prepare(making->place->rootfs, fault);
    return r == 0 ? packages_fetch(making, true, fault) : r;
}

static int node_fetch(const struct recipe_making *making, bool *ret_debian_node,
                      struct fault *fault)
{
    if (making->locked != NULL && making->locked->npm == NULL) {
        *ret_debian_node = true;
        return packages_fetch(making, true, fault);
    }
    struct npm_host host;
    bool can_show = image_plan_has_mounts();
    int r = can_show ? npm_find(&host, fault) : 1;
    if (r > 0 && making->locked != NULL)
        return fault_set(fault, ENOENT, "the lock lists packages of npm, and %s",
                         can_show ? "this host has no npm"
                                  : "in tier C that of the host cannot be used");
    if (r == 0)
        return node_fetch_either(making, &host, ret_debian_node, fault);
    if (r < 0)
        return r;
    *ret_debian_node = true;
    progress_note(making->progress, "note: %s, so Node.js comes from Debian",
                  can_show ? "this host has no npm" : "in tier C the host's npm cannot be used");
    return packages_fetch(making, true, fault);
}

int recipe_make(const struct recipe_making *making, struct fault *fault)
{
    const struct postinstall finish = {making->recipe, making->locked, making->lock,
                                       making->place->scratch};
    const char *root = making->place->rootfs;
    bool debian_node = false;
    int r = image_plan_check_programs(fault);
    if (r == 0)
        r = tree_prepare(root, fault);
    if (r == 0)
        r = making->recipe->node ? node_fetch(making, &debian_node, fault)
                                 : packages_fetch(making, false, fault);
    if (r == 0)
        r = postinstall_packages(root, &finish, making->progress, fault);
    /* These packages are not in the lock. */
    if (r == 0 && debian_node && making->locked == NULL)
        r = npm_install_inside(root, making->progress, fault);
    making->lock->recipe = strdup(making->recipe->name);
    return r == 0 && making->lock->recipe == NULL
               ? fault_set(fault, ENOMEM, "no memory for the lock")
               : r;
}
