#include "interpreter/changes/tracked.h"

#include "interpreter/changes/entry.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE 12
#define ENTRY_SIZE 62 /* up to the name, without extended flags */
#define FLAGS_OFFSET 60
#define FLAG_EXTENDED 0x40 /* in the first byte of the flags */

static uint32_t number_at(const char *bytes)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

/* The name of the entry at `offset`; *ret_next is where the next one begins. NULL: it is cut off. */
static const char *name_at(const char *bytes, size_t size, size_t offset, size_t *ret_next)
{
    if (size - offset < ENTRY_SIZE)
        return NULL;
    bool is_extended = (bytes[offset + FLAGS_OFFSET] & FLAG_EXTENDED) != 0;
    size_t name = offset + ENTRY_SIZE + (is_extended ? 2 : 0);
    const char *end = name < size ? memchr(bytes + name, '\0', size - name) : NULL;
    if (end == NULL)
        return NULL;
    /* One to eight NULs fill it up to a multiple of eight. */
    size_t length = (size_t)(end - bytes) - offset;
    *ret_next = offset + (length / 8 + 1) * 8;
    return *ret_next <= size ? bytes + name : NULL;
}

static int read_entries(struct tracked *tracked, size_t size)
{
    const char *bytes = tracked->bytes;
    uint32_t version = size >= HEADER_SIZE ? number_at(bytes + 4) : 0;
    if ((version != 2 && version != 3) || memcmp(bytes, "DIRC", 4) != 0)
        return 0;
    size_t count = number_at(bytes + 8);
    if (count > size / ENTRY_SIZE)
        return 0;
    tracked->paths = calloc(count + 1, sizeof(*tracked->paths));
    if (tracked->paths == NULL)
        return -ENOMEM;
    size_t offset = HEADER_SIZE;
    for (tracked->count = 0; tracked->count < count; tracked->count++) {
        const char *name = name_at(bytes, size, offset, &offset);
        if (name == NULL)
            return 0;
        tracked->paths[tracked->count] = name;
    }
    tracked->is_known = true;
    return 0;
}

int tracked_read(struct tracked *tracked, char *bytes, size_t size)
{
    *tracked = (struct tracked){.bytes = bytes};
    return read_entries(tracked, size);
}

void tracked_read_index(struct tracked *tracked, int folder_fd)
{
    OWNED(version_release) struct file_version index = VERSION_ABSENT;
    OWNED_FD int fd = entry_open_directory(folder_fd, ".git");
    const struct entry entry = entry_look(fd, "index");
    if (fd >= 0 && entry.kind == ENTRY_FILE && entry_read(fd, "index", &entry, &index) == 0)
        (void)tracked_read(tracked, pointer_take(&index.bytes), index.size);
}

void tracked_release(struct tracked *tracked)
{
    free(tracked->bytes);
    free(tracked->paths);
    *tracked = (struct tracked){0};
}

static int compare(const void *path, const void *entry)
{
    return strcmp(path, *(const char *const *)entry);
}

bool tracked_has(const struct tracked *tracked, const char *path)
{
    return tracked->is_known &&
           bsearch(path, tracked->paths, tracked->count, sizeof(*tracked->paths), compare) != NULL;
}
