#include "interpreter/changes/change_list.h"

#include "sandbox/base/owned.h"

#include <string.h>

#define FIRST_CAPACITY 64

void version_release(struct file_version *version)
{
    memory_release(&version->bytes);
    *version = VERSION_ABSENT;
}

bool version_same_content(const struct file_version *one, const struct file_version *other)
{
    return (one->mode == MODE_NONE) == (other->mode == MODE_NONE) &&
           (one->mode == MODE_LINK) == (other->mode == MODE_LINK) && one->size == other->size &&
           (one->size == 0 || memcmp(one->bytes, other->bytes, one->size) == 0);
}

const char *left_out_text(enum left_out_reason reason)
{
    static const char *const texts[] = {
        [LEFT_EMPTY_DIRECTORY] = "an empty directory: git has only files",
        [LEFT_IN_THE_WAY] = "what the host has in its place is not in the patch",
        [LEFT_DIRECTORY_MODE] = "the mode of a directory: git has only modes of files",
        [LEFT_MODE] = "its mode: git has only the executable bit",
        [LEFT_SOCKET] = "a socket",
        [LEFT_FIFO] = "a FIFO",
        [LEFT_DEVICE] = "a device",
        [LEFT_UNREADABLE] = "its owner may not read it",
        [LEFT_HOST_UNREADABLE] = "the file of the host cannot be read",
        [LEFT_HOST_SPECIAL] = "the host has a socket, a FIFO or a device there",
        [LEFT_OTHER_FILE_SYSTEM] = "another file system is mounted there on the host",
        [LEFT_CHANGED_ON_HOST] = "changed on the host meanwhile",
        [LEFT_REMOVED_ON_HOST] = "removed on the host meanwhile",
        [LEFT_GIT] = "git's own files",
        [LEFT_IGNORED] = "files that its rules ignore are not in the patch",
        [LEFT_NAME] = "git refuses such a name",
        [LEFT_TOO_LARGE] = "larger than 8 MiB",
        [LEFT_TOO_MUCH] = "the changed files are larger than 64 MiB together",
        [LEFT_TOO_MANY] = "more than 10000 files are changed",
        [LEFT_TOO_DEEP] = "nested too deeply",
        [LEFT_NAMES] = "too many names: the rest was not looked at",
        [LEFT_TIME] = "no time left for it",
        [LEFT_PATCH_SIZE] = "the patch would be larger than 16 MiB",
        [LEFT_MEMORY] = "no memory for it",
    };
    _Static_assert(CHANGES_FILE_MAX == 8388608 && CHANGES_READ_MAX == 67108864 &&
                       CHANGES_COUNT_MAX == 10000 && CHANGES_PATCH_MAX == 16777216,
                   "the texts tell these numbers");
    return texts[reason];
}

void change_list_leave_out(struct change_list *list, const char *path, enum left_out_reason reason,
                           size_t count)
{
    bool ends_all = reason == LEFT_NAMES || reason == LEFT_TIME;
    size_t most = CHANGES_LEFT_OUT_MAX - (reason == LEFT_IGNORED ? 0 : ends_all ? 1 : 2);
    char *copy = list->left_out_count < most ? strdup(path) : NULL;
    if (copy == NULL) {
        list->left_out_more++;
        return;
    }
    list->left_out[list->left_out_count++] = (struct left_out){copy, reason, count};
}

static bool make_room(struct change_list *list)
{
    if (list->count < list->capacity)
        return true;
    size_t capacity = list->capacity > 0 ? 2 * list->capacity : FIRST_CAPACITY;
    struct change *changes = reallocarray(list->changes, capacity, sizeof(*changes));
    if (changes == NULL)
        return false;
    list->changes = changes;
    list->capacity = capacity;
    return true;
}

void change_list_add(struct change_list *list, const char *path, struct file_version *old,
                     struct file_version *new)
{
    OWNED(version_release) struct file_version before = *old;
    OWNED(version_release) struct file_version after = *new;
    *old = VERSION_ABSENT;
    *new = VERSION_ABSENT;
    uint64_t bytes = before.size + after.size;
    if (list->count == CHANGES_COUNT_MAX) {
        change_list_leave_out(list, path, LEFT_TOO_MANY, 0);
        return;
    }
    if (bytes > CHANGES_READ_MAX - list->bytes) {
        change_list_leave_out(list, path, LEFT_TOO_MUCH, 0);
        return;
    }
    OWNED_MEMORY char *copy = strdup(path);
    if (copy == NULL || !make_room(list)) {
        change_list_leave_out(list, path, LEFT_MEMORY, 0);
        return;
    }
    list->changes[list->count++] =
        (struct change){.path = pointer_take(&copy), .old = before, .new = after};
    list->bytes += bytes;
    before = VERSION_ABSENT;
    after = VERSION_ABSENT;
}

void change_list_release(struct change_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        memory_release(&list->changes[i].path);
        version_release(&list->changes[i].old);
        version_release(&list->changes[i].new);
    }
    for (size_t i = 0; i < list->left_out_count; i++)
        memory_release(&list->left_out[i].path);
    memory_release(&list->changes);
    *list = (struct change_list){0};
}
