#include "sandbox/jail/child/proc_copies.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#define COPY_PIECE 4096
#define COPY_SIZE_MAX (256 << 10) /* cpuinfo of hundreds of processors is longer than others */

/* Up to COPY_SIZE_MAX bytes; a file that the host does not have, or show, is left out. */
static int copy_file(int from_directory, int to_directory, const char *name)
{
    char piece[COPY_PIECE];
    int from = openat(from_directory, name, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return 0;
    int to = openat(to_directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    int r = to < 0 ? -errno : 0;
    for (size_t copied = 0; r == 0 && copied < COPY_SIZE_MAX;) {
        ssize_t length = read(from, piece, sizeof(piece));
        if (length <= 0)
            break;
        if (write(to, piece, (size_t)length) != length)
            r = -ENOSPC;
        copied += (size_t)length;
    }
    if (to >= 0)
        close(to);
    close(from);
    return r;
}

int proc_copies_write(int from_directory, int to_directory, const char *const *names)
{
    int r = 0;
    for (; r == 0 && *names != NULL; names++)
        r = copy_file(from_directory, to_directory, *names);
    return r;
}
