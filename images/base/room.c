#include "images/base/room.h"

#include "images/base/progress.h"

#include <errno.h>
#include <sys/statvfs.h>

#define REMEDY                                                                                     \
    "; make room there, or set XDG_DATA_HOME to a directory on a file system that has some"

int room_check(const char *store, const char *what, const struct room *needed, struct fault *fault)
{
    struct statvfs about;
    if (statvfs(store, &about) < 0)
        return fault_set(fault, errno, "cannot ask for the free space of %s: %m", store);
    uint64_t bytes = (uint64_t)about.f_bavail * about.f_frsize;
    if (bytes < needed->bytes) {
        char free_text[32], needed_text[32];
        return fault_set(fault, ENOSPC,
                         "not enough space for %s: the file system of %s has %s free, and %s are "
                         "needed" REMEDY,
                         what, store, progress_size_text(bytes, free_text),
                         progress_size_text(needed->bytes, needed_text));
    }
    if (about.f_files > 0 && about.f_favail < needed->files)
        return fault_set(fault, ENOSPC,
                         "not enough inodes for %s: the file system of %s has %llu free, and %llu "
                         "are needed" REMEDY,
                         what, store, (unsigned long long)about.f_favail,
                         (unsigned long long)needed->files);
    return 0;
}
