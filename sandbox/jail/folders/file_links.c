#include "sandbox/jail/folders/file_links.h"

#include "sandbox/base/owned.h"

void file_links_release(struct file_links *links)
{
    free(links->list);
    *links = (struct file_links){0};
}

int file_links_add(struct file_links *links, const struct stat *about)
{
    if (links->count == links->capacity) {
        size_t capacity = links->capacity > 0 ? 2 * links->capacity : 64;
        struct file_link *grown = reallocarray(links->list, capacity, sizeof(*grown));
        if (grown == NULL)
            return -ENOMEM;
        links->list = grown;
        links->capacity = capacity;
    }
    links->list[links->count++] = (struct file_link){about->st_dev, about->st_ino};
    return 0;
}

static int compare(const void *one, const void *other)
{
    const struct file_link *a = one;
    const struct file_link *b = other;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->inode != b->inode ? (a->inode < b->inode ? -1 : 1) : 0;
}

bool file_links_close(struct file_links *links)
{
    size_t kept = 0;
    if (links->count > 0)
        qsort(links->list, links->count, sizeof(*links->list), compare);
    for (size_t i = 0; i < links->count; i++)
        if (kept == 0 || compare(&links->list[kept - 1], &links->list[i]) != 0)
            links->list[kept++] = links->list[i];
    links->count = kept;
    return kept > 0;
}

bool file_links_have(const struct file_links *links, const struct stat *about)
{
    const struct file_link key = {about->st_dev, about->st_ino};
    return links->count > 0 && bsearch(&key, links->list, links->count, sizeof(key), compare);
}
