#include "images/base/file.h"

#include "sandbox/base/io.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int read_resolved(const char *path, uint64_t resolve, struct buffer *text,
                         struct fault *fault)
{
    OWNED_FD int fd = open_resolved(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, resolve);
    if (fd == -ENOENT)
        return -ENOENT;
    if (fd < 0)
        return fault_set(fault, -fd, "cannot open %s: %m", path);
    int r = text_file_read_all(fd, text);
    if (r == -ENOBUFS)
        return fault_set(fault, EFBIG, "%s is too large", path);
    return r < 0 ? fault_set(fault, -r, "cannot read %s: %m", path) : 0;
}

int file_read(const char *path, struct buffer *text, struct fault *fault)
{
    return read_resolved(path, 0, text, fault);
}

int file_read_in_tree(const char *path, struct buffer *text, struct fault *fault)
{
    return read_resolved(path, RESOLVE_IN_ROOT, text, fault);
}

int file_create(int directory_fd, const char *path, const char *bytes, size_t length,
                struct fault *fault)
{
    OWNED_FD int fd = openat(directory_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return fault_set(fault, errno, "cannot create %s: %m", path);
    int r = io_write(fd, bytes, length);
    return r < 0 ? fault_set(fault, -r, "cannot write %s: %m", path) : 0;
}

int file_write(const char *path, const char *bytes, size_t length, struct fault *fault)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return fault_set(fault, errno, "cannot replace %s: %m", path);
    return file_create(AT_FDCWD, path, bytes, length, fault);
}

int file_write_link(const char *path, const char *target, struct fault *fault)
{
    if ((unlink(path) < 0 && errno != ENOENT) || symlink(target, path) < 0)
        return fault_set(fault, errno, "cannot make the link %s to %s: %m", path, target);
    return 0;
}

static int directory_make(char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return 0;
    char *slash = strrchr(path, '/');
    if (errno != ENOENT || slash == NULL || slash == path)
        return -errno;
    *slash = '\0';
    int r = directory_make(path, 0755);
    *slash = '/';
    if (r < 0)
        return r;
    return mkdir(path, mode) == 0 || errno == EEXIST ? 0 : -errno;
}

int file_make_directory(const char *path, mode_t mode, struct fault *fault)
{
    OWNED_MEMORY char *copy = strdup(path);
    int r = copy != NULL ? directory_make(copy, mode) : -ENOMEM;
    return r < 0 ? fault_set(fault, -r, "cannot make the directory %s: %m", path) : 0;
}

bool file_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

void file_list_release(struct file_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->entries[i]);
    free(list->entries);
    *list = (struct file_list){0};
}

void file_list_read(const char *path, const char *ending, struct file_list *ret_list)
{
    *ret_list = (struct file_list){0};
    int count = scandir(path, &ret_list->entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct dirent *entry = ret_list->entries[i];
        size_t length = strlen(entry->d_name), end = strlen(ending);
        if (length > end && strcmp(entry->d_name + length - end, ending) == 0)
            ret_list->entries[ret_list->count++] = entry;
        else
            free(entry);
    }
}
