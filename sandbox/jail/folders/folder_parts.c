#include "sandbox/jail/folders/folder_parts.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <string.h>

void folder_scan_release(struct folder_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        free(scan->list[i].path);
    free(scan->list);
    *scan = (struct folder_scan){0};
}

/* A folder as a whole, "", cannot be protected: what is in it still counts. */
static bool is_in(const char *path, size_t length, const struct folder_part *above)
{
    size_t end = above->length;
    return end <= length && (path[end] == '\0' || (path[end] == '/' && end > 0)) &&
           memcmp(path, above->path, end) == 0;
}

int folder_parts_add(struct folder_scan *scan, const char *path, const struct stat *about,
                     const struct timespec *since, enum folder_care care)
{
    for (size_t i = 0; i < scan->count; i++)
        if (scan->list[i].care == care && strcmp(scan->list[i].path, path) == 0)
            return 0;
    if (scan->count == FOLDER_PARTS_MAX)
        return 1;
    struct folder_part *grown = reallocarray(scan->list, scan->count + 1, sizeof(*scan->list));
    if (grown == NULL)
        return -ENOMEM;
    scan->list = grown;
    char *copy = strdup(path);
    if (copy == NULL)
        return -ENOMEM;
    scan->list[scan->count++] = (struct folder_part){.path = copy,
                                                     .length = strlen(copy),
                                                     .care = care,
                                                     .device = about->st_dev,
                                                     .inode = about->st_ino,
                                                     .since = *since};
    return 0;
}

void folder_parts_set_read(struct folder_scan *scan, const char *path)
{
    for (size_t i = 0; i < scan->count; i++)
        if (strcmp(scan->list[i].path, path) == 0)
            scan->list[i].is_read = true;
}

bool folder_parts_cover(const struct folder_scan *scan, const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < scan->count; i++)
        if (scan->list[i].care == CARE_PROTECT && is_in(path, length, &scan->list[i]))
            return true;
    return false;
}

/* Of one path, the strongest care comes first: to hide, to protect, to pin. */
static int compare(const void *one, const void *other)
{
    static const int ranks[] = {
        [CARE_HIDE] = 0, [CARE_PROTECT] = 1, [CARE_PIN] = 2, [CARE_NONE] = 3};
    const struct folder_part *a = one;
    const struct folder_part *b = other;
    int r = strcmp(a->path, b->path);
    return r != 0 ? r : ranks[a->care] - ranks[b->care];
}

static bool is_needed(const struct folder_scan *scan, const struct folder_part *part)
{
    for (size_t i = 0; i < scan->count; i++) {
        const struct folder_part *kept = &scan->list[i];
        if (strcmp(part->path, kept->path) == 0 ||
            (kept->care == CARE_PROTECT && part->care != CARE_HIDE &&
             is_in(part->path, part->length, kept)))
            return false;
    }
    return true;
}

void folder_parts_close(struct folder_scan *scan)
{
    size_t count = scan->count;
    if (count > 0)
        qsort(scan->list, count, sizeof(*scan->list), compare);
    scan->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct folder_part part = scan->list[i];
        if (is_needed(scan, &part))
            scan->list[scan->count++] = part;
        else
            free(part.path);
    }
}

static const struct folder_part *find(const struct folder_scan *scan,
                                      const struct folder_part *part)
{
    for (size_t i = 0; i < scan->count; i++) {
        const struct folder_part *known = &scan->list[i];
        if (known->care != CARE_PIN && known->inode == part->inode &&
            known->device == part->device && strcmp(known->path, part->path) == 0)
            return known;
    }
    return NULL;
}

bool folder_scan_has(const struct folder_scan *before, const struct folder_part *part)
{
    return find(before, part) != NULL;
}

static const struct folder_part *find_kept(const struct folder_scan *scan,
                                           const struct folder_part *part)
{
    const struct folder_part *known = find(scan, part);
    bool is_kept = known != NULL && known->since.tv_sec == part->since.tv_sec &&
                   known->since.tv_nsec == part->since.tv_nsec;
    return is_kept ? known : NULL;
}

bool folder_scan_kept(const struct folder_scan *before, const struct folder_part *part)
{
    return find_kept(before, part) != NULL;
}

bool folder_scan_rested(const struct folder_scan *before, const struct folder_part *part)
{
    const struct folder_part *known = find_kept(before, part);
    return known != NULL && part_trace_is_same(&known->trace, &part->trace);
}
