#include "interpreter/changes/names.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

static int add(struct names *names, const char *name)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity > 0 ? 2 * names->capacity : FIRST_CAPACITY;
        char **list = reallocarray(names->list, capacity, sizeof(*list));
        if (list == NULL)
            return -ENOMEM;
        names->list = list;
        names->capacity = capacity;
    }
    names->list[names->count] = strdup(name);
    if (names->list[names->count] == NULL)
        return -ENOMEM;
    names->count++;
    return 0;
}

int names_read(struct names *names, int directory_fd, size_t maximum)
{
    OWNED_FD int fd = fcntl(directory_fd, F_DUPFD_CLOEXEC, 0);
    OWNED(directory_release) DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL)
        return -errno;
    fd = -1; /* the directory's now */
    rewinddir(directory);
    for (;;) {
        errno = 0;
        const struct dirent *entry = directory_next(directory);
        if (entry == NULL)
            return -errno;
        int r = names->count < maximum ? add(names, entry->d_name) : -E2BIG;
        if (r < 0)
            return r;
    }
}

static int compare(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

void names_sort(struct names *names)
{
    if (names->count == 0)
        return;
    qsort(names->list, names->count, sizeof(*names->list), compare);
    size_t kept = 1;
    for (size_t i = 1; i < names->count; i++) {
        if (strcmp(names->list[i], names->list[kept - 1]) == 0)
            memory_release(&names->list[i]);
        else
            names->list[kept++] = names->list[i];
    }
    names->count = kept;
}

void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
    *names = (struct names){0};
}
