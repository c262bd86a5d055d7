#include "sandbox/run_files.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>

static bool is_picture_name(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".gif", ".webp"};
    size_t length = strlen(name);
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && length < RUN_FILE_NAME_SIZE &&
            strcasecmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

/* 0 and the file, or -1. O_NONBLOCK: opening a FIFO or a device must not block the server. */
static int open_file(int directory_fd, const char *name, struct run_file *ret_file)
{
    OWNED_FD int fd =
        openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size <= 0)
        return -1;
    *ret_file = (struct run_file){
        .fd = fd_take(&fd),
        .size = (uint64_t)about.st_size,
        .written_at = about.st_mtim,
    };
    memcpy(ret_file->name, name, strlen(name) + 1);
    return 0;
}

static int compare_times(const void *one, const void *other)
{
    const struct timespec *first = &((const struct run_file *)one)->written_at;
    const struct timespec *second = &((const struct run_file *)other)->written_at;
    if (first->tv_sec != second->tv_sec)
        return first->tv_sec < second->tv_sec ? -1 : 1;
    return first->tv_nsec < second->tv_nsec ? -1 : first->tv_nsec > second->tv_nsec;
}

void run_files_collect(int files_fd, struct run_result *result)
{
    OWNED_FD int fd = -1;
    char byte;
    const struct fd_message message = {&byte, 1, &fd, 1};
    DIR *directory =
        fd_message_receive(files_fd, &message, MSG_DONTWAIT) > 0 ? fdopendir(fd) : NULL;
    if (directory == NULL)
        return;
    int directory_fd = fd_take(&fd); /* `directory` owns it */
    /* tmpfs lists the newest first, and a directory may be full of names. */
    size_t count = 0;
    for (const struct dirent *entry; count < RUN_NAMES_MAX && (entry = readdir(directory));) {
        count++;
        if (!is_picture_name(entry->d_name))
            continue;
        if (result->file_count == RUN_FILES_MAX) {
            result->files_left++;
            continue;
        }
        struct run_file *file = &result->files[result->file_count];
        if (open_file(directory_fd, entry->d_name, file) == 0)
            result->file_count++;
    }
    closedir(directory);
    qsort(result->files, result->file_count, sizeof(result->files[0]), compare_times);
}
