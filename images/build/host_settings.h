/*
 * This host's settings of package indexes, for installers in an image: the variables and files that
 * configure indexes, proxies and certificates for pip and npm, and name resolution.
 *
 * Only settings of a fixed list are passed on, and only the files that they name are shown: at their host
 * paths, because settings refer to these. Side: parent. Source:
 * pip's "Configuration", npm's npmrc(5).
 */
#ifndef IMAGES_BUILD_HOST_SETTINGS_H
#define IMAGES_BUILD_HOST_SETTINGS_H

#include "images/unpack/jailed.h"

#define HOST_VARIABLES_MAX 128
#define HOST_FILES_MAX 32

struct host_settings {
    char *variables[HOST_VARIABLES_MAX + 1]; /* owned, NULL-terminated: a whole environment */
    size_t variable_count;
    struct plan_shown files[HOST_FILES_MAX]; /* the paths are owned */
    size_t file_count;
};

/*
 * Empty is {0}; host_settings_release() frees. 0; -EPERM: a setting names what installers must not see, such as
 * a home directory, or a file of certificates that is none; -E2BIG; -ENOMEM.
 */
int host_settings_read(struct host_settings *settings, struct fault *fault);
void host_settings_release(struct host_settings *settings);

/* Shows one more file, if it exists. 0, -E2BIG or -ENOMEM. */
int host_settings_show(struct host_settings *settings, const char *host_path,
                       const char *image_path);

#endif
