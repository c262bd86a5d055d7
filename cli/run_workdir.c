#include "cli/run_workdir.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/folders/host_fence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OPTION "--workdir"

int run_workdir_add(struct run_workdir *workdir, struct settings *settings, const char *value,
                    struct fault *fault)
{
    if (workdir->said != NULL)
        return fault_set(fault, EINVAL, OPTION " can be given once: use --mount for other folders");
    workdir->said = value;
    return mounts_add_text(&settings->mounts, OPTION, value, fault);
}

int run_workdir_find(struct run_workdir *workdir, const struct settings *settings, const char *path,
                     struct fault *fault)
{
    if (workdir->said == NULL || settings->folders.count == 0)
        return 0;
    const struct folder *folder = &settings->folders.list[0];
    workdir->directory = folder->place;
    OWNED_MEMORY char *real = path != NULL ? realpath(path, NULL) : NULL;
    if (real == NULL || !path_is_below(real, folder->path))
        return 0;
    if (asprintf(&workdir->program, "%s%s", folder->place, real + strlen(folder->path)) < 0) {
        workdir->program = NULL;
        return fault_set(fault, ENOMEM, OPTION ": %m");
    }
    return 0;
}

void run_workdir_release(struct run_workdir *workdir)
{
    free(workdir->program);
    *workdir = (struct run_workdir){0};
}
