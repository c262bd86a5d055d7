#include "interpreter/compile_cache.h"

#include "interpreter/settings/settings.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE 24
#define ENTRIES_MAX 4096 /* of the directory: more are removed */
#define TEMPORARY_AGE_S 600 /* of a file that nobody has finished */

/* Those that are missing, up to the last one. */
static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

/* A descriptor, or a negative errno. */
static int open_directory(bool makes_it)
{
    OWNED_MEMORY char *path = NULL;
    int r = settings_compile_cache(&path);
    if (r < 0)
        return r;
    if (makes_it)
        make_directories(path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;
    if (fd < 0)
        return -errno;
    /* What others can write to is no place for programs. */
    if (fstat(fd, &about) == 0 && about.st_uid == geteuid() && (about.st_mode & 022) == 0)
        return fd;
    close(fd);
    return -EPERM;
}

/* Only to find the file: the key in it decides.  Source: FNV-1a, draft-eastlake-fnv. */
static void name_file(const struct buffer *key, char name[static NAME_SIZE])
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key->length; i++)
        hash = (hash ^ (unsigned char)key->data[i]) * UINT64_C(1099511628211);
    snprintf(name, NAME_SIZE, "%016" PRIx64, hash);
}

/* Whether the file begins with the length of the key, and the key. */
static bool has_key(int fd, const struct buffer *key)
{
    uint64_t length = 0;
    OWNED(buffer_release) struct buffer bytes = BUFFER(key->length);
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
           (uint64_t)about.st_size >= sizeof(length) + key->length &&
           io_read_at(fd, &length, sizeof(length), 0) == 0 && length == key->length &&
           buffer_reserve(&bytes, key->length) == 0 &&
           io_read_at(fd, bytes.data, key->length, sizeof(length)) == 0 &&
           memcmp(bytes.data, key->data, key->length) == 0;
}

static int read_program(int fd, const struct buffer *key, struct compiled **ret_compiled)
{
    struct stat about;
    uint64_t begin = sizeof(uint64_t) + key->length;
    if (fstat(fd, &about) < 0 || (uint64_t)about.st_size < begin)
        return -EBADMSG;
    uint64_t length = (uint64_t)about.st_size - begin;
    OWNED(buffer_release) struct buffer bytes = BUFFER(COMPILED_BYTES_MAX);
    int r = buffer_reserve(&bytes, length);
    if (r == 0)
        r = io_read_at(fd, bytes.data, length, begin);
    if (r < 0)
        return r;
    bytes.length = length;
    return compiled_read(&bytes, ret_compiled);
}

struct compiled *compile_cache_find(const struct buffer *key)
{
    char name[NAME_SIZE];
    struct compiled *compiled = NULL;
    OWNED_FD int directory_fd = open_directory(false);
    if (directory_fd < 0)
        return NULL;
    name_file(key, name);
    OWNED_FD int fd =
        openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || !has_key(fd, key) || read_program(fd, key, &compiled) < 0)
        return NULL;
    compiled->report.was_kept = true;
    futimens(fd, NULL); /* it is the newest now */
    return compiled;
}

struct kept_program {
    char name[NAME_SIZE];
    uint64_t size;
    struct timespec used_at;
};

static int compare_entries(const void *one, const void *other)
{
    const struct timespec *first = &((const struct kept_program *)one)->used_at;
    const struct timespec *second = &((const struct kept_program *)other)->used_at;
    if (first->tv_sec != second->tv_sec)
        return first->tv_sec < second->tv_sec ? 1 : -1;
    return first->tv_nsec < second->tv_nsec ? 1 : first->tv_nsec > second->tv_nsec ? -1 : 0;
}

/* Only what has the name of a program, or was to become one. */
static bool is_ours(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return digits == 16 && (name[16] == '\0' || name[16] == '.');
}

static bool look_at(int directory_fd, const char *name, struct kept_program *entry)
{
    struct stat about;
    if (strlen(name) >= NAME_SIZE || !is_ours(name) ||
        fstatat(directory_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(about.st_mode))
        return false;
    bool is_unfinished = name[16] != '\0';
    if (is_unfinished && time(NULL) - about.st_mtim.tv_sec > TEMPORARY_AGE_S)
        unlinkat(directory_fd, name, 0);
    if (is_unfinished)
        return false;
    *entry = (struct kept_program){.size = (uint64_t)about.st_size, .used_at = about.st_mtim};
    snprintf(entry->name, sizeof(entry->name), "%s", name);
    return true;
}

/* Removes those used least recently, until the rest fits. */
static void sweep(int directory_fd, uint64_t most)
{
    OWNED_MEMORY struct kept_program *entries = calloc(ENTRIES_MAX, sizeof(*entries));
    OWNED(directory_release) DIR *directory = directory_open(directory_fd, ".");
    size_t count = 0;
    uint64_t bytes = 0;
    if (entries == NULL || directory == NULL)
        return;
    for (const struct dirent *it; (it = directory_next(directory)) != NULL;) {
        if (count == ENTRIES_MAX && is_ours(it->d_name))
            unlinkat(directory_fd, it->d_name, 0);
        else if (count < ENTRIES_MAX && look_at(directory_fd, it->d_name, &entries[count]))
            count++;
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    for (size_t i = 0; i < count; i++) {
        bytes += entries[i].size;
        if (bytes > most)
            unlinkat(directory_fd, entries[i].name, 0);
    }
}

static int write_program(int fd, const struct buffer *key, const struct compiled *compiled)
{
    uint64_t length = key->length;
    int r = io_write(fd, &length, sizeof(length));
    if (r == 0)
        r = io_write(fd, key->data, key->length);
    return r < 0 ? r : io_write(fd, compiled->bytes.data, compiled->bytes.length);
}

void compile_cache_add(const struct buffer *key, const struct compiled *compiled, uint64_t most)
{
    char name[NAME_SIZE], unfinished[NAME_SIZE];
    if (key->length + compiled->bytes.length > most)
        return;
    OWNED_FD int directory_fd = open_directory(true);
    if (directory_fd < 0)
        return;
    name_file(key, name);
    snprintf(unfinished, sizeof(unfinished), "%.16s.%06u", name, (unsigned)getpid() % 1000000);
    unlinkat(directory_fd, unfinished, 0);
    OWNED_FD int fd = openat(directory_fd, unfinished,
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write_program(fd, key, compiled) < 0 ||
        renameat(directory_fd, unfinished, directory_fd, name) < 0)
        unlinkat(directory_fd, unfinished, 0);
    sweep(directory_fd, most);
}
