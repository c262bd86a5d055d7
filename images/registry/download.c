#include "images/registry/download.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define DIRECTORY "downloads"
#define AGE_MAX (7 * 24 * 3600) /* seconds */

/* Whether the file is stale: old, and not locked by a fetch. */
static bool is_forgotten(int directory_fd, const char *name)
{
    struct stat status;
    OWNED_FD int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           time(NULL) - status.st_mtime > AGE_MAX && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void sweep(int directory_fd)
{
    OWNED(directory_release) DIR *directory = directory_open(directory_fd, ".");
    for (struct dirent *entry; (entry = directory_next(directory)) != NULL;)
        if (is_forgotten(directory_fd, entry->d_name))
            unlinkat(directory_fd, entry->d_name, 0);
}

int download_open_directory(const char *store, int *ret_fd, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/" DIRECTORY, store) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "no memory for the path of the downloads");
    }
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return fault_set(fault, errno, "cannot make %s: %m", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot open %s: %m", path);
    sweep(fd);
    *ret_fd = fd;
    return 0;
}

/* "sha256-HEX" */
static void file_name(const struct digest *digest, char name[DIGEST_TEXT_MAX])
{
    memcpy(name, digest->text, DIGEST_TEXT_MAX);
    name[strcspn(name, ":")] = '-';
}

static bool is_named(int directory_fd, const char *name, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 &&
           fstatat(directory_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Opens and locks the blob's file, or creates an unnamed one. A descriptor or a negative errno. */
static int file_open(int directory_fd, const char *name)
{
    OWNED_FD int fd =
        openat(directory_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(directory_fd, name, fd))
        return fd_take(&fd);
    int unnamed_fd = openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return unnamed_fd < 0 ? -errno : unnamed_fd;
}

/*
 * Measures the file. A file of wrong type or size does not belong to this blob. 0 or a negative
 * errno.
 */
static int take_up(struct download *download)
{
    struct stat status;
    if (fstat(download->fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > download->wanted.size)
        return ftruncate(download->fd, 0) < 0 ? -errno : 0;
    download->have = (uint64_t)status.st_size;
    download->resumed = download->have > 0;
    return 0;
}

int download_begin(int directory_fd, const struct descriptor *wanted, struct download *ret_download,
                   struct fault *fault)
{
    char name[DIGEST_TEXT_MAX];
    OWNED(download_release)
    struct download download = {.wanted = *wanted, .directory_fd = directory_fd, .fd = -1};
    file_name(&wanted->digest, name);
    download.fd = file_open(directory_fd, name);
    if (download.fd < 0)
        return fault_set(fault, -download.fd, "cannot make a file for a download: %m");
    int r = take_up(&download);
    if (r < 0)
        return fault_set(fault, -r, "cannot take up the download %s: %m", name);
    *ret_download = download;
    download = DOWNLOAD_NONE;
    return 0;
}

static int digest_begin(struct download *download)
{
    const struct file_digest_request request = {
        .fd = download->fd,
        .like = &download->wanted.digest,
        .on_end = download->on_digest,
        .data = download->data,
    };
    int r = file_digest_start(&request, &download->digest);
    if (r == 0)
        file_digest_extend(download->digest, download->have, false);
    return r;
}

int download_start(struct download *download, void (*on_digest)(void *data), void *data)
{
    if (download->digest != NULL)
        return 0;
    download->on_digest = on_digest;
    download->data = data;
    return digest_begin(download);
}

int download_write(struct download *download, const void *bytes, size_t length)
{
    if (length > download->wanted.size - download->have)
        return -EMSGSIZE;
    int r = io_write_at(download->fd, bytes, length, download->have);
    if (r < 0)
        return r;
    download->have += length;
    file_digest_extend(download->digest, download->have, false);
    return 0;
}

int download_restart(struct download *download)
{
    file_digest_release(&download->digest);
    download->have = 0;
    download->resumed = false;
    return ftruncate(download->fd, 0) < 0 ? -errno : digest_begin(download);
}

bool download_is_complete(struct download *download)
{
    if (download->have != download->wanted.size)
        return false;
    file_digest_extend(download->digest, download->have, true);
    return true;
}

int download_check(struct download *download)
{
    struct digest found;
    int r = file_digest_result(download->digest, &found);
    if (r < 0)
        return r;
    return digest_equal(&found, &download->wanted.digest) ? 0 : -EBADMSG;
}

void download_forget(int directory_fd, const struct digest *digest)
{
    char name[DIGEST_TEXT_MAX];
    file_name(digest, name);
    unlinkat(directory_fd, name, 0);
}

void download_remove(struct download *download)
{
    char name[DIGEST_TEXT_MAX];
    file_name(&download->wanted.digest, name);
    if (download->fd >= 0 && is_named(download->directory_fd, name, download->fd))
        unlinkat(download->directory_fd, name, 0);
}

void download_release(struct download *download)
{
    file_digest_release(&download->digest);
    fd_close(&download->fd);
}
