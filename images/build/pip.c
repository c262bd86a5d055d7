#include "images/build/pip.h"

#include "images/base/file.h"
#include "images/build/install.h"
#include "images/build/installer_output.h"
#include "images/build/system.h"
#include "images/build/upper_layer.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <glob.h>

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

/* What the child that cleans up needs. */
struct pip_cleaning {
    const struct host_settings *settings;
    const char *const *pruned;
};

static int prune(const char *const *patterns, struct fault *fault)
{
    int r = 0;
    for (; r == 0 && patterns != NULL && *patterns != NULL; patterns++) {
        glob_t found = {0};
        if (glob(*patterns, 0, NULL, &found) == 0)
            for (size_t i = 0; r == 0 && i < found.gl_pathc; i++) {
                r = tree_remove(AT_FDCWD, found.gl_pathv[i]);
                if (r < 0)
                    r = fault_set(fault, -r, "cannot remove /%s: %m", found.gl_pathv[i]);
            }
        globfree(&found);
    }
    return r;
}

/* In a jailed child: removes the files provided only for pip, and those that nobody needs. */
static int clean_body(void *data, struct fault *fault)
{
    const struct pip_cleaning *cleaning = data;
    upper_layer_forget_shown(cleaning->settings->files, cleaning->settings->file_count);
    int r = prune(cleaning->pruned, fault);
    if (r < 0)
        return r;
    r = tree_remove(AT_FDCWD, "var/tmp");
    if (r < 0)
        return fault_set(fault, -r, "cannot remove the temporary files of pip in /var/tmp: %m");
    r = system_provide_directories(fault);
    /* The image gets an empty file, which is also the mount point for the host's. */
    return r == 0 && !file_exists(RESOLVER) ? file_write(RESOLVER, "", 0, fault) : r;
}

/* Tells which packages the image lacks, and why. */
static int note_absence(const struct pip_request *request, const struct fault *cause,
                        struct progress *progress, struct fault *fault)
{
    OWNED(buffer_release) struct buffer names = BUFFER(FAULT_TEXT_MAX);
    int r = 0;
    for (size_t i = 0; r == 0 && request->requirements[i] != NULL; i++)
        r = buffer_format(&names, "%s%s", i > 0 ? ", " : "", request->requirements[i]);
    const char *text = r == 0 ? buffer_string(&names) : NULL;
    if (text == NULL)
        return fault_set(fault, ENOMEM, "no memory for the names of pip's packages");
    char line[ANSWER_LINE_SIZE];
    progress_note(progress, "note: the image lacks %s, which pip could not install: %s", text,
                  pip_failure(cause->text, line));
    return 0;
}

int pip_add(const char *root, const struct pip_request *request, struct progress *progress,
            struct fault *fault)
{
    OWNED(host_settings_release) struct host_settings settings = {0};
    struct fault cause = {0};
    int installed = host_settings_read(&settings, request->scratch, &cause);
    if (installed == 0)
        host_settings_tell(&settings, progress);
    if (installed == 0)
        installed = install(root, request, &settings, progress, &cause);
    if (installed == -EINTR || installed == -ENOTRECOVERABLE ||
        (installed < 0 && request->locked != NULL))
        return fault_set(fault, -installed, "%s", cause.text);
    struct pip_cleaning cleaning = {&settings, request->pruned};
    const struct image_jail clean = {.root = root, .body = clean_body, .data = &cleaning};
    int r = jailed_run(&clean, NULL, fault);
    return r == 0 && installed < 0 ? note_absence(request, &cause, progress, fault) : r;
}
