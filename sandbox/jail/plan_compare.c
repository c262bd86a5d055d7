/* Whether two plans make the same jail. */
#include "sandbox/jail/plan.h"
#include "sandbox/jail/plan_state.h"

#include <string.h>

/* NULL equals NULL. */
static bool same_text(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

static bool same_list(char *const *one, char *const *other)
{
    size_t i = 0;
    while (one[i] != NULL && same_text(one[i], other[i]))
        i++;
    return one[i] == other[i];
}

static bool same_home_links(const struct jail_plan *one, const struct jail_plan *other)
{
    bool same = one->home_link_count == other->home_link_count;
    for (size_t i = 0; same && i < one->home_link_count; i++)
        same = same_text(one->home_links[i].path, other->home_links[i].path) &&
               same_text(one->home_links[i].target, other->home_links[i].target);
    return same;
}

/* Most often those of one image, at one place. */
static bool same_bytes(const struct plan_file *one, const struct plan_file *other)
{
    return one->length == other->length &&
           (one->bytes == other->bytes || memcmp(one->bytes, other->bytes, one->length) == 0);
}

/* All of them, which prewarmed sandboxes have. */
static bool same_home_files(const struct plan *one, const struct plan *other)
{
    bool same = one->warm_file_count == other->warm_file_count;
    for (size_t i = 0; same && i < one->warm_file_count; i++)
        same = same_text(one->home_files[i].path, other->home_files[i].path) &&
               same_bytes(&one->home_files[i], &other->home_files[i]);
    return same;
}

/* The folders of an engine never change, so the paths are compared by address. */
static bool same_folders(const struct jail_plan *one, const struct jail_plan *other)
{
    bool same = one->folder_count == other->folder_count;
    for (size_t i = 0; same && i < one->folder_count; i++)
        same = one->folders[i].path == other->folders[i].path;
    return same;
}

bool plan_is_same(const struct plan *one, const struct plan *other)
{
    const struct jail_plan *a = &one->jail;
    const struct jail_plan *b = &other->jail;
    if (a->session != b->session || a->rlimit_count != b->rlimit_count)
        return false;
    for (size_t i = 0; i < a->rlimit_count; i++) {
        if (a->rlimits[i].resource != b->rlimits[i].resource ||
            a->rlimits[i].limit != b->rlimits[i].limit || a->rlimits[i].hard != b->rlimits[i].hard)
            return false;
    }
    return same_text(a->subject, b->subject) && same_text(a->root_path, b->root_path) &&
           a->root_device == b->root_device && a->root_inode == b->root_inode &&
           same_text(a->root_layers, b->root_layers) &&
           same_text(a->scratch_size, b->scratch_size) &&
           same_text(a->scratch_inodes, b->scratch_inodes) && a->has_stdin == b->has_stdin &&
           a->joins_output == b->joins_output &&
           same_text(a->program_directory, b->program_directory) &&
           same_text(a->packages, b->packages) && same_text(a->code_name, b->code_name) &&
           same_list(a->argv, b->argv) && same_list(a->programs, b->programs) &&
           same_list(one->environment, other->environment) && same_home_links(a, b) &&
           same_home_files(one, other) && same_folders(a, b);
}
