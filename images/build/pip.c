#include "images/build/pip.h"

#include "images/base/file.h"
#include "images/base/tree.h"
#include "images/build/install.h"
#include "images/build/installer_output.h"
#include "images/build/system.h"
#include "images/build/upper_layer.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>

#define RESOLVER "etc/resolv.conf"

/* Optional packages are not worth minutes of waiting. */
static const char *const patience[] = {"--retries=1", "--timeout=15", NULL};

static void requests_release(char ***requests)
{
    lock_requests_free(*requests);
}

static int install(const char *root, const struct pip_request *request,
                   struct host_settings *settings, struct progress *progress, struct fault *fault)
{
    OWNED(requests_release)
    char **locked = request->locked != NULL ? lock_requests(request->locked, LOCK_PIP) : NULL;
    if (request->locked != NULL && locked == NULL)
        return fault_set(fault, ENOMEM, "no memory for the packages of the lock");
    if (locked != NULL && locked[0] == NULL)
        return 0; /* the locked image was made without them */
    OWNED(buffer_release) struct buffer output = BUFFER(SUBPROCESS_OUTPUT_MAX);
    const struct image_jail jail = {
        .root = root,
        .network = true,
        .output = &output,
    };
    const struct install_site site = {
        .jail = &jail,
        .settings = settings,
        .progress = progress,
    };
    const char *const *wanted =
        locked != NULL ? (const char *const *)locked : request->requirements;
    int r = install_pip(patience, wanted, &site, fault);
    if (r < 0 || request->lock == NULL)
        return r;
    const char *text = buffer_string(&output);
    return text != NULL ? lock_add_requirements(request->lock, text, fault) : 0;
}

/* In a jailed child: removes the files provided only for pip. */
static int clean_body(void *data, struct fault *fault)
{
    const struct host_settings *settings = data;
    upper_layer_forget_shown(settings->files, settings->file_count);
    int r = tree_remove(AT_FDCWD, "var/tmp");
    if (r < 0)
        return fault_set(fault, -r, "cannot remove the temporary files of pip in /var/tmp: %m");
    r = system_provide_directories(fault);
    /* The image gets an empty file, which is also the mount point for the host's. */
    return r == 0 && !file_exists(RESOLVER) ? file_write(RESOLVER, "", 0, fault) : r;
}

int pip_add(const char *root, const struct pip_request *request, struct progress *progress,
            struct fault *fault)
{
    OWNED(host_settings_release) struct host_settings settings = {0};
    struct fault cause = {0};
    int installed = host_settings_read(&settings, &cause);
    if (installed == 0)
        installed = install(root, request, &settings, progress, &cause);
    if (installed == -EINTR || (installed < 0 && request->locked != NULL))
        return fault_set(fault, -installed, "%s", cause.text);
    const struct image_jail clean = {.root = root, .body = clean_body, .data = &settings};
    int r = jailed_run(&clean, NULL, fault);
    char line[ANSWER_LINE_SIZE];
    if (r == 0 && installed < 0)
        progress_note(progress, "note: %s could not be added, the image is made without it: %s",
                      request->requirements[0], pip_failure(cause.text, line));
    return r;
}
