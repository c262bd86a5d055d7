#include "images/build/install_apt.h"

#include "images/base/file.h"
#include "images/build/debian.h"
#include "images/build/installer_output.h"
#include "images/build/package_status.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define STATUS "var/lib/dpkg/status"
#define RELEASE "usr/lib/os-release"
#define PACKAGES "/tmp/packages" /* mount point of the downloads in the jail */

/* Needed to install packages, but missing in the images made by `fetch`. */
static const char *const tools[] = {"dpkg", "diffutils", "perl-base", NULL};

/* Appends a file of the image, from the topmost layer that contains it. -ENOENT: none. */
static int layers_read(const struct image *image, const char *path, struct buffer *text)
{
    for (size_t i = image->layer_count; i > 0; i--) {
        OWNED_MEMORY char *tree = NULL;
        int r = image->layer_names != NULL
                    ? asprintf(&tree, "%s/%s", image->rootfs, image->layer_names[i - 1])
                    : asprintf(&tree, "%s", image->rootfs);
        if (r < 0) {
            tree = NULL;
            return -ENOMEM;
        }
        OWNED_FD int tree_fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
        OWNED_FD int fd = open_resolved(tree_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                                        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
        if (fd == -ENOENT || fd == -ENOTDIR)
            continue;
        if (fd < 0)
            return fd;
        char opened[64];
        snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
        return file_read(opened, text, NULL);
    }
    return -ENOENT;
}

/* The image's Debian release: VERSION_CODENAME of os-release(5). */
static bool release_read(const struct image *image, char suite[64])
{
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    if (layers_read(image, RELEASE, &text) < 0)
        return false;
    const char *all = buffer_string(&text);
    const char *line = all != NULL ? strstr(all, "VERSION_CODENAME=") : NULL;
    if (line == NULL || strstr(all, "ID=debian") == NULL)
        return false;
    line += strlen("VERSION_CODENAME=");
    size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz");
    if (length == 0 || length >= 64)
        return false;
    memcpy(suite, line, length);
    suite[length] = '\0';
    return true;
}

/* The image has no dpkg: our own unpacker installs the downloaded packages this first time. */
static int tools_unpack(const struct debian_download *download, const struct install_site *site,
                        struct fault *fault)
{
    static const char *const names[] = {"usr", SETUP_DIRECTORY};
    OWNED_FD int upper_fd = open(site->upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (upper_fd < 0)
        return fault_set(fault, errno, "cannot open %s: %m", site->upper);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (mkdirat(upper_fd, names[i], 0755) < 0 && errno != EEXIST)
            return fault_set(fault, errno, "cannot make %s in the layer: %m", names[i]);
    int r = unpack_packages(site->upper, download->fds, download->count, site->progress, fault);
    if (r == 0)
        r = tree_remove(upper_fd, SETUP_DIRECTORY);
    return r == 0 && site->copy != NULL ? layer_copy_merge(site->copy, fault) : r;
}

static int packages_configure(const struct install_site *site, struct fault *fault)
{
    static const char script[] =
        "set -e\n"
        "cd /var/lib/dpkg\n"
        "mkdir -p info updates triggers alternatives parts /var/log /etc/alternatives /var/cache\n"
        "touch available\n"
        "dpkg --force-depends --force-unsafe-io --force-confold --force-overwrite "
        "--unpack " PACKAGES "/*.deb >&2\n"
        "dpkg --force-unsafe-io --force-confold --configure -a >&2\n"
        "rm -f available-old status-old lock lock-frontend\n";
    progress_step(site->progress, "configuring packages");
    int r = installer_run(site, (const char *const[]){"/bin/sh", "-c", script, NULL}, fault);
    return r > 0 ? fault_set(fault, ENOENT, "the image has no /bin/sh") : r;
}

int install_apt(const char *const *packages, const struct install_site *site, struct fault *fault)
{
    OWNED(buffer_release) struct buffer status = BUFFER(FILE_TEXT_MAX);
    OWNED(buffer_release) struct buffer plain = BUFFER(FILE_TEXT_MAX);
    char suite[64], archives[PATH_MAX];
    if (!release_read(site->image, suite) || layers_read(site->image, STATUS, &status) < 0)
        return fault_set(fault, ENOENT,
                         "--apt is for images of Debian with a package status, and "
                         "this is none");
    const char *text = buffer_string(&status);
    int r = text != NULL ? package_status_rebuild(text, &plain, fault)
                         : fault_set(fault, ENOMEM, "no memory for a package status");
    if (r < 0)
        return r;
    char version[VERSION_SIZE];
    const char *names[256];
    size_t count = 0;
    bool has_tools = true;
    for (size_t i = 0; tools[i] != NULL; i++) {
        if (!status_version(text, tools[i], version)) {
            names[count++] = tools[i];
            has_tools = false;
        }
    }
    for (; *packages != NULL; packages++) {
        if (count == ARRAY_LENGTH(names) - 1)
            return fault_set(fault, E2BIG, "too many packages for one command");
        names[count++] = *packages;
    }
    names[count] = NULL;
    const struct debian_request request = {
        .store = site->store, .packages = names, .suite = suite, .status = &plain};
    OWNED(debian_download_release) struct debian_download download = {0};
    r = debian_download(site->scratch, &request, site->progress, &download, fault);
    if (r == 0 && !has_tools)
        r = tools_unpack(&download, site, fault);
    if (r < 0)
        return r;
    snprintf(archives, sizeof(archives), "%s/cache/archives", site->scratch);
    r = host_settings_show(site->settings, archives, PACKAGES);
    return r == 0 ? packages_configure(site, fault) : r;
}
