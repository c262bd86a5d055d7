#include "interpreter/folders/changes_since.h"

#include "sandbox/base/owned.h"

#include <string.h>

void changes_seen_release(struct changes_seen *seen)
{
    for (size_t i = 0; i < FOLDERS_MAX && seen->folders[i] != NULL; i++)
        changes_release(&seen->list[i]);
    *seen = (struct changes_seen){0};
}

/* The place of a folder, which may be free. */
static size_t place_of(const struct changes_seen *seen, const char *folder)
{
    size_t i = 0;
    while (seen->folders[i] != NULL && seen->folders[i] != folder)
        i++;
    return i;
}

static const struct changed_file *find_file(const struct changes *changes, const char *path)
{
    for (size_t i = 0; i < changes->file_count; i++)
        if (strcmp(changes->files[i].path, path) == 0)
            return &changes->files[i];
    return NULL;
}

static bool was_left_out(const struct changes *before, const struct left_out_file *file)
{
    for (size_t i = 0; i < before->left_out_count; i++)
        if (strcmp(before->left_out[i].path, file->path) == 0 &&
            strcmp(before->left_out[i].reason, file->reason) == 0)
            return true;
    return false;
}

static bool is_same(const struct changed_file *before, const struct changed_file *now)
{
    return before != NULL && before->status == now->status &&
           strcmp(before->version, now->version) == 0;
}

static bool is_left_out(const struct changes *changes, const char *path)
{
    for (size_t i = 0; i < changes->left_out_count; i++)
        if (strcmp(changes->left_out[i].path, path) == 0)
            return true;
    return false;
}

/* Without memory, some are not named; that they are gone from the patch is seen there. */
static void add_undone(const struct changes *before, struct changes *now)
{
    now->undone = calloc(before->file_count + 1, sizeof(*now->undone));
    for (size_t i = 0; now->undone != NULL && i < before->file_count; i++) {
        const char *path = before->files[i].path;
        char *copy = find_file(now, path) == NULL && !is_left_out(now, path) ? strdup(path) : NULL;
        if (copy != NULL)
            now->undone[now->undone_count++] = copy;
    }
}

static void mark(const struct changes *before, struct changes *now)
{
    /* Among files that are not listed, any may have changed. */
    now->is_by_call = now->more_files > 0 || before->more_files > 0 ||
                      now->more_left_out != before->more_left_out ||
                      now->patch_bytes != before->patch_bytes;
    for (size_t i = 0; i < now->file_count; i++) {
        struct changed_file *file = &now->files[i];
        file->is_by_call = !is_same(find_file(before, file->path), file);
        now->is_by_call |= file->is_by_call;
    }
    for (size_t i = 0; i < now->left_out_count; i++) {
        now->left_out[i].is_by_call = !was_left_out(before, &now->left_out[i]);
        now->is_by_call |= now->left_out[i].is_by_call;
    }
    if (now->more_files == 0 && now->more_left_out == 0)
        add_undone(before, now);
    now->is_by_call |= now->undone_count > 0;
    if (!now->is_by_call)
        fd_close(&now->patch_fd);
}

void changes_since_mark(const struct changes_seen *seen, struct folder_patches *patches)
{
    patches->is_of_session = true;
    for (size_t i = 0; i < patches->count; i++)
        if (patches->list[i].failure == NULL)
            mark(&seen->list[place_of(seen, patches->list[i].folder)], &patches->list[i].changes);
}

void changes_since_keep(struct changes_seen *seen, struct folder_patches *patches)
{
    for (size_t i = 0; i < patches->count; i++) {
        struct changes *now = &patches->list[i].changes;
        if (patches->list[i].failure != NULL)
            continue;
        size_t place = place_of(seen, patches->list[i].folder);
        fd_close(&now->patch_fd);
        if (seen->folders[place] != NULL)
            changes_release(&seen->list[place]);
        seen->folders[place] = patches->list[i].folder;
        seen->list[place] = *now;
        *now = CHANGES_NONE;
    }
}
