/*
 * This host's settings of package indexes, for installers in an image: the variables and files that
 * configure indexes, proxies and certificates for pip and npm, and name resolution.
 *
 * Only settings of a fixed list are passed on, and only the files that they name are shown: copies, made when they are
 * checked, at their host paths, because settings refer to these. Side: parent. Source:
 * pip's "Configuration", npm's npmrc(5).
 */
#ifndef IMAGES_BUILD_HOST_SETTINGS_H
#define IMAGES_BUILD_HOST_SETTINGS_H

#include "images/base/progress.h"
#include "images/build/passed_settings.h"
#include "images/unpack/jailed.h"

#include <limits.h>

#define HOST_VARIABLES_MAX 128
#define HOST_FILES_MAX 32

struct host_settings {
    char *variables[HOST_VARIABLES_MAX + 1]; /* owned, NULL-terminated: a whole environment */
    size_t variable_count;
    struct plan_shown files[HOST_FILES_MAX]; /* the paths are owned */
    size_t file_count;
    const char *scratch; /* borrowed: where the copies are made */
    char copies[PATH_MAX]; /* a directory there, for nobody else; "": none yet */
    size_t copy_count;
    char *left_out[HOST_FILES_MAX]; /* owned: "NAME names PATH", where the image has its own */
    size_t left_out_count;
};

/*
 * Empty is {0}; host_settings_release() frees. `scratch` is the absolute path of a directory of ours, which stays as long
 * as jails that show the files, and which the caller removes. 0; -EPERM: a setting names what installers must not see,
 * such as a home directory, or a file of certificates that is none; -E2BIG; -ENOMEM.
 */
int host_settings_read(struct host_settings *settings, const char *scratch, struct fault *fault);
/* Tells what was left out, a line each. */
void host_settings_tell(const struct host_settings *settings, struct progress *progress);

/* A file or directory of this host, which the setting `name` has as a value of that kind. Borrowed. */
struct host_path {
    const char *name;
    const char *path;
    enum value_kind kind;
};

/*
 * Copies it to where nobody else may change it, if installers may see it. A link may lead to what is below its own
 * directory, or to certificates of the system. The path of what to show, owned: the copy, or a directory of the system.
 * 0; -EPERM with a fault that says why not; another negative errno.
 */
int host_settings_copy(struct host_settings *settings, const struct host_path *host,
                       char **ret_copy, struct fault *fault);

void host_settings_release(struct host_settings *settings);

/* Shows one more file, if it exists. 0, -E2BIG or -ENOMEM. */
int host_settings_show(struct host_settings *settings, const char *host_path,
                       const char *image_path);

#endif
