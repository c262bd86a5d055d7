#include "sandbox/jail/child/file_request.h"

#include "sandbox/jail/child/report.h"
#include "sandbox/jail/child/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NAME_SIZE (NAME_MAX + 1)
#define REST_SIZE (2 * PATH_MAX)
#define LINKS_MAX 40 /* as the kernel: path_resolution(7) */
#define PIECE_SIZE 65536
#define OUTBOX_SIZE 16384
#define DEPTH_MAX 2048
#define ASIDE_TRIES 16
#define ASIDE_PREFIX ".write-"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define FILE_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* The process, which shares nothing with init that it may write. */
struct work {
    struct jail *jail;
    const struct file_request *request;
    const int *streams;
    struct file_answer answer;
    size_t kept; /* bytes in `outbox` */
};

static char *const piece = jail_scratch; /* for whatever the request is */
static char *const outbox = jail_scratch + PIECE_SIZE;

/* A file by its directory. name "": the directory itself. */
struct place {
    int directory;
    char name[NAME_SIZE];
};

enum walk_way {
    WAY_KEEPS_LAST, /* a link at the end is what is meant */
    WAY_FOLLOWS,
    WAY_TO_DIRECTORY, /* the place has no name */
    WAY_MAKES_PARENTS, /* and follows */
    WAY_MAKES_ALL, /* and leads to a directory */
};

struct walk {
    struct work *work;
    enum walk_way way;
    int directory;
    unsigned links;
    const char *next;
    char rest[REST_SIZE];
};

/* Negative errno, and the answer names the call. */
static int failed(struct work *work, long call)
{
    work->answer.call = (int32_t)call;
    return -errno;
}

/* Adds what was written to *total, even if that was not all. */
static int write_all(struct work *work, int fd, const void *bytes, size_t length, uint64_t *total)
{
    for (const char *at = bytes; length > 0;) {
        ssize_t written = write(fd, at, length);
        if (written < 0 && errno != EINTR)
            return failed(work, SYS_write);
        if (written > 0)
            at += written, length -= (size_t)written, *total += (uint64_t)written;
    }
    return 0;
}

static int flush(struct work *work)
{
    uint64_t ignored = 0;
    int r = write_all(work, STDOUT_FILENO, outbox, work->kept, &ignored);
    work->kept = 0;
    return r;
}

static int say(struct work *work, const void *bytes, size_t length)
{
    uint64_t ignored = 0;
    int r = length > OUTBOX_SIZE - work->kept ? flush(work) : 0;
    work->answer.length += length;
    if (r < 0 || length > OUTBOX_SIZE)
        return r < 0 ? r : write_all(work, STDOUT_FILENO, bytes, length, &ignored);
    memcpy(outbox + work->kept, bytes, length);
    work->kept += length;
    return 0;
}

/* Its own files there lead to its memory, and so to what init has of the server's. */
static int refuse_proc(struct work *work, int fd)
{
    struct statfs files;
    if (fstatfs(fd, &files) < 0)
        return failed(work, SYS_fstatfs);
    return WALL(file_proc, files.f_type == PROC_SUPER_MAGIC) ? -ENOTSUP : 0;
}

/* The way to a file. */

static size_t skip_slashes(const char *text)
{
    size_t length = 0;
    while (text[length] == '/')
        length++;
    return length;
}

static int begin_at(struct walk *walk, const char *path)
{
    if (walk->directory >= 0 && path[0] != '/')
        return 0;
    if (walk->directory >= 0)
        close(walk->directory);
    walk->directory = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return walk->directory < 0 ? failed(walk->work, SYS_openat) : 0;
}

/* Puts a text before the rest of the way. */
static int put_before(struct walk *walk, const char *text, size_t length)
{
    size_t rest = strlen(walk->next) + 1;
    char *begin = walk->rest + REST_SIZE - rest;
    if (length + rest + 1 > REST_SIZE)
        return -ENAMETOOLONG;
    if (walk->next != begin) /* the first time, from a text of its own */
        memcpy(begin, walk->next, rest);
    begin -= length;
    memcpy(begin, text, length);
    walk->next = begin;
    return begin_at(walk, walk->next);
}

static int follow(struct walk *walk, int link)
{
    char text[PATH_MAX];
    ssize_t length = readlinkat(link, "", text, sizeof(text));
    if (length < 0)
        return failed(walk->work, SYS_readlinkat);
    if (length == (ssize_t)sizeof(text))
        return -ENAMETOOLONG;
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    return length == 0 ? -ENOENT : put_before(walk, text, (size_t)length);
}

/* Whether there is one. It may be too long: -ENAMETOOLONG. */
static int take_name(struct walk *walk, char name[NAME_SIZE])
{
    const char *begin = walk->next + skip_slashes(walk->next);
    size_t length = 0;
    while (begin[length] != '/' && begin[length] != '\0')
        length++;
    if (length >= NAME_SIZE)
        return -ENAMETOOLONG;
    memcpy(name, begin, length);
    name[length] = '\0';
    walk->next = begin + length;
    return length > 0;
}

static int open_name(struct walk *walk, const char *name, bool is_last)
{
    bool makes = walk->way == WAY_MAKES_ALL || (walk->way == WAY_MAKES_PARENTS && !is_last);
    int fd = openat(walk->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT || !makes)
        return fd < 0 ? failed(walk->work, SYS_openat) : fd;
    if (mkdirat(walk->directory, name, 0755) < 0 && errno != EEXIST)
        return failed(walk->work, SYS_mkdirat);
    fd = openat(walk->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? failed(walk->work, SYS_openat) : fd;
}

/* Follows a link, or enters a directory. 1: it is the last, and no link. */
static int pass(struct walk *walk, const char *name, bool is_last)
{
    int fd = open_name(walk, name, is_last);
    struct stat file;
    if (fd == -ENOENT && is_last)
        return 1;
    if (fd < 0)
        return fd;
    int r = fstat(fd, &file) < 0 ? failed(walk->work, SYS_fstat) : 0;
    if (r == 0 && S_ISLNK(file.st_mode)) {
        r = follow(walk, fd);
    } else if (r == 0 && is_last) {
        r = 1;
    } else if (r == 0 && !S_ISDIR(file.st_mode)) {
        r = -ENOTDIR;
    } else if (r == 0) {
        r = refuse_proc(walk->work, fd);
        int left = walk->directory;
        walk->directory = fd;
        fd = left;
    }
    close(fd);
    return r;
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* The directory of the place is never closed: one process, one request. */
static int find(struct work *work, const char *path, enum walk_way way, struct place *ret_place)
{
    struct walk walk = {.work = work, .way = way, .directory = -1, .next = path};
    bool has_name = way != WAY_TO_DIRECTORY && way != WAY_MAKES_ALL;
    *ret_place = (struct place){.directory = -1};
    int r = begin_at(&walk, path);
    while (r == 0) {
        r = take_name(&walk, ret_place->name);
        if (r <= 0)
            break;
        size_t slashes = skip_slashes(walk.next);
        bool ends = walk.next[way == WAY_KEEPS_LAST ? slashes : 0] == '\0';
        bool is_last = has_name && ends && !is_dots(ret_place->name);
        r = is_last && way == WAY_KEEPS_LAST ? 1 : pass(&walk, ret_place->name, is_last);
        if (r == 1)
            break;
    }
    ret_place->directory = walk.directory;
    return r < 0 ? r : walk.directory < 0 ? -EBADF : 0;
}

/* Files. */

static int judge_file(const struct stat *file)
{
    if (S_ISREG(file->st_mode))
        return 0;
    return S_ISDIR(file->st_mode) ? -EISDIR : -ENOTSUP;
}

/* Anything but a regular file is not even opened, unless it comes between. */
static int open_file(struct work *work, const struct place *place, int flags, struct stat *ret_file)
{
    if (place->name[0] == '\0')
        return -EISDIR;
    if (fstatat(place->directory, place->name, ret_file, AT_SYMLINK_NOFOLLOW) < 0)
        return failed(work, SYS_newfstatat);
    int r = WALL(file_kind, judge_file(ret_file));
    if (r < 0)
        return r;
    int fd = openat(place->directory, place->name, flags | FILE_FLAGS, 0);
    if (fd < 0)
        return failed(work, SYS_openat);
    r = fstat(fd, ret_file) < 0 ? failed(work, SYS_fstat) : WALL(file_kind, judge_file(ret_file));
    if (r == 0)
        r = refuse_proc(work, fd);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

static void describe(const struct stat *file, struct file_record *ret_record)
{
    *ret_record = (struct file_record){
        .size = (uint64_t)file->st_size,
        .modified_s = file->st_mtim.tv_sec,
        .modified_ns = (uint32_t)file->st_mtim.tv_nsec,
        .mode = file->st_mode,
    };
}

static int read_file(struct work *work)
{
    const struct file_request *request = work->request;
    struct place place;
    struct stat file;
    int r = find(work, request->paths, WAY_FOLLOWS, &place);
    int fd = r < 0 ? r : open_file(work, &place, O_RDONLY, &file);
    if (fd < 0)
        return fd;
    uint64_t done = 0;
    for (ssize_t length = 1; r == 0 && length != 0 && done < request->length;) {
        size_t left = request->length - done;
        length = pread(fd, piece, left < PIECE_SIZE ? left : PIECE_SIZE,
                       (off_t)(request->offset + done));
        if (length < 0 && errno != EINTR)
            return failed(work, SYS_pread64);
        if (length > 0)
            r = say(work, piece, (size_t)length);
        done += length > 0 ? (uint64_t)length : 0;
    }
    if (r == 0 && fstat(fd, &file) < 0)
        r = failed(work, SYS_fstat);
    describe(&file, &work->answer.file);
    work->answer.has_more =
        done == request->length && request->offset + done < (uint64_t)file.st_size;
    return r;
}

/* So many bytes; -EPIPE: there were fewer. `length` UINT64_MAX: to the end. */
static int copy(struct work *work, int from, int to, uint64_t length, uint64_t *ret_done)
{
    *ret_done = 0;
    while (*ret_done < length) {
        uint64_t left = length - *ret_done;
        ssize_t got = read(from, piece, left < PIECE_SIZE ? left : PIECE_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(work, SYS_read);
        if (got == 0)
            return length == UINT64_MAX ? 0 : -EPIPE;
        int r = write_all(work, to, piece, (size_t)got, ret_done);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A name that nobody has: with the number of this process. */
static void name_aside(char name[NAME_SIZE], unsigned attempt)
{
    unsigned long long number = (unsigned long long)getpid() * ASIDE_TRIES + attempt;
    size_t length = sizeof(ASIDE_PREFIX) - 1;
    memcpy(name, ASIDE_PREFIX, length);
    do {
        name[length++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    name[length] = '\0';
}

static int open_aside(struct work *work, int directory, mode_t mode, char name[NAME_SIZE])
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | FILE_FLAGS;
    int fd = -1;
    for (unsigned attempt = 0; fd < 0 && attempt < ASIDE_TRIES; attempt++) {
        name_aside(name, attempt);
        fd = openat(directory, name, flags, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd < 0 ? failed(work, SYS_openat) : fd;
}

/* Fills a new file beside the place, which then takes it. */
static int replace(struct work *work, const struct place *place, int from, uint64_t length,
                   mode_t mode)
{
    char aside[NAME_SIZE];
    uint64_t done;
    int fd = open_aside(work, place->directory, mode, aside);
    if (fd < 0)
        return fd;
    int r = copy(work, from, fd, length, &done);
    if (close(fd) < 0 && r == 0) /* a network file system may have kept its complaint */
        r = failed(work, SYS_close);
    if (r == 0 && renameat(place->directory, aside, place->directory, place->name) < 0)
        r = failed(work, SYS_renameat);
    if (r < 0)
        unlinkat(place->directory, aside, 0);
    return r;
}

static int write_anew(struct work *work, const struct place *place)
{
    const struct file_request *request = work->request;
    struct stat old = {.st_mode = S_IFREG | 0644};
    if (place->name[0] == '\0')
        return -EISDIR;
    bool is_there = fstatat(place->directory, place->name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && errno != ENOENT)
        return failed(work, SYS_newfstatat);
    int r = judge_file(&old);
    if (r == 0 && is_there && syscall(SYS_faccessat, place->directory, place->name, W_OK) < 0)
        r = failed(work, SYS_faccessat);
    if (r < 0)
        return r;
    mode_t mode = request->mode != 0 ? request->mode : old.st_mode & 0777;
    return replace(work, place, STDIN_FILENO, request->length, mode);
}

static int write_file(struct work *work)
{
    struct place place;
    int r = find(work, work->request->paths, WAY_MAKES_PARENTS, &place);
    return r < 0 ? r : write_anew(work, &place);
}

static int append(struct work *work)
{
    struct place place;
    struct stat file;
    uint64_t done;
    int r = find(work, work->request->paths, WAY_MAKES_PARENTS, &place);
    if (r < 0)
        return r;
    int fd = open_file(work, &place, O_WRONLY | O_APPEND, &file);
    if (fd == -ENOENT)
        return write_anew(work, &place);
    if (fd < 0)
        return fd;
    off_t before = file.st_size;
    r = copy(work, STDIN_FILENO, fd, work->request->length, &done);
    bool is_alone = r < 0 && fstat(fd, &file) == 0 && file.st_size == before + (off_t)done;
    if (is_alone && ftruncate(fd, before) < 0)
        r = failed(work, SYS_ftruncate);
    return r;
}

/* Directories. */

struct name_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static const struct name_entry *entry_at(long offset)
{
    return (const struct name_entry *)(const void *)(piece + offset);
}

/* Of a name in it. 0: it is gone. */
static int tell_entry(struct work *work, int fd, const struct name_entry *entry)
{
    struct {
        struct file_record record;
        char name[NAME_SIZE];
    } told;
    struct stat file = {.st_mode = (mode_t)entry->type
                                   << 12}; /* DT_..., if it may not be searched */
    if (fstatat(fd, entry->name, &file, AT_SYMLINK_NOFOLLOW) < 0 && errno != EACCES)
        return errno == ENOENT ? 0 : failed(work, SYS_newfstatat);
    describe(&file, &told.record);
    size_t size = strlen(entry->name) + 1;
    told.record.name_size = (uint32_t)size;
    memcpy(told.name, entry->name, size);
    int r = say(work, &told, offsetof(__typeof__(told), name) + size);
    return r < 0 ? r : 1;
}

static int list(struct work *work)
{
    struct place place;
    int r = find(work, work->request->paths, WAY_TO_DIRECTORY, &place);
    int fd = r < 0 ? r : openat(place.directory, ".", DIRECTORY_FLAGS);
    if (fd < 0)
        return r < 0 ? r : failed(work, SYS_openat);
    r = refuse_proc(work, fd);
    uint64_t count = 0;
    for (long size = 1; r >= 0 && size > 0;) {
        size = syscall(SYS_getdents64, fd, piece, PIECE_SIZE);
        if (size < 0)
            return failed(work, SYS_getdents64);
        for (long at = 0; r >= 0 && at < size; at += entry_at(at)->size) {
            if (is_dots(entry_at(at)->name))
                continue;
            if (count == work->request->length) {
                work->answer.has_more = 1;
                return 0;
            }
            r = tell_entry(work, fd, entry_at(at));
            count += r > 0 ? 1 : 0;
        }
    }
    return r < 0 ? r : 0;
}

static int tell_stat(struct work *work)
{
    struct place place;
    struct stat file;
    int r = find(work, work->request->paths, WAY_FOLLOWS, &place);
    if (r == 0 && place.name[0] == '\0' && fstat(place.directory, &file) < 0)
        r = failed(work, SYS_fstat);
    if (r == 0 && place.name[0] != '\0' &&
        fstatat(place.directory, place.name, &file, AT_SYMLINK_NOFOLLOW) < 0)
        r = failed(work, SYS_newfstatat);
    if (r == 0)
        describe(&file, &work->answer.file);
    return r;
}

static int make_directory(struct work *work)
{
    struct place place;
    return find(work, work->request->paths, WAY_MAKES_ALL, &place);
}

static int move_by_copy(struct work *work, const struct place *from, const struct place *to)
{
    struct stat file;
    /* Else there would be two of them. */
    if (syscall(SYS_faccessat, from->directory, ".", W_OK) < 0)
        return failed(work, SYS_faccessat);
    int fd = open_file(work, from, O_RDONLY, &file);
    int r = fd < 0 ? fd : replace(work, to, fd, UINT64_MAX, file.st_mode & 0777);
    if (r == 0 && unlinkat(from->directory, from->name, 0) < 0)
        r = failed(work, SYS_unlinkat);
    return r;
}

static int move(struct work *work)
{
    const struct file_request *request = work->request;
    struct place from, to;
    int r = find(work, request->paths, WAY_KEEPS_LAST, &from);
    if (r == 0)
        r = find(work, request->paths + request->to, WAY_KEEPS_LAST, &to);
    if (r == 0 && (from.name[0] == '\0' || to.name[0] == '\0'))
        r = -EBUSY;
    if (r < 0)
        return r;
    if (renameat(from.directory, from.name, to.directory, to.name) == 0)
        return 0;
    r = failed(work, SYS_renameat);
    return r == -EXDEV ? move_by_copy(work, &from, &to) : r;
}

/* Removal of trees, without a stack: down into the first directory that is not empty, and up again. */
struct tree_level {
    dev_t device;
    ino_t inode;
};

static int open_level(struct work *work, int directory, const char *name,
                      struct tree_level *ret_level)
{
    struct stat file;
    int fd = openat(directory, name, DIRECTORY_FLAGS);
    if (fd < 0)
        return failed(work, SYS_openat);
    if (fstat(fd, &file) < 0)
        return failed(work, SYS_fstat);
    *ret_level = (struct tree_level){file.st_dev, file.st_ino};
    return fd;
}

/* 0; 1: it is a directory that is not empty. */
static int remove_one(struct work *work, int directory, const char *name)
{
    if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return failed(work, SYS_unlinkat);
    if (unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errno == ENOTEMPTY || errno == EEXIST ? 1 : failed(work, SYS_unlinkat);
}

/* 0: it is empty; 1: but for a directory of this name. */
static int empty(struct work *work, int fd, char name[NAME_SIZE])
{
    long size;
    do {
        if (lseek(fd, 0, SEEK_SET) < 0)
            return failed(work, SYS_lseek);
        size = syscall(SYS_getdents64, fd, piece, PIECE_SIZE);
        if (size < 0)
            return failed(work, SYS_getdents64);
        bool is_empty = true;
        for (long at = 0; at < size; at += entry_at(at)->size) {
            const char *entry = entry_at(at)->name;
            if (is_dots(entry))
                continue;
            is_empty = false;
            int r = remove_one(work, fd, entry);
            if (r != 0) {
                memcpy(name, entry, strlen(entry) + 1);
                return r;
            }
        }
        if (is_empty)
            size = 0;
    } while (size > 0);
    return 0;
}

static int empty_tree(struct work *work, const struct place *place)
{
    static struct tree_level
        levels[DEPTH_MAX]; /* whoever moves a directory meanwhile leads us nowhere else */
    struct tree_level above = {0};
    char name[NAME_SIZE];
    size_t depth = 0;
    int fd = open_level(work, place->directory, place->name, &levels[0]);
    while (fd >= 0) {
        int r = empty(work, fd, name);
        if (r < 0 || (r == 0 && depth == 0))
            return r;
        if (r == 1 && depth + 1 == DEPTH_MAX)
            return -ENAMETOOLONG;
        int next = open_level(work, fd, r == 1 ? name : "..", r == 1 ? &levels[depth + 1] : &above);
        close(fd);
        fd = next;
        depth = r == 1 ? depth + 1 : depth - 1;
        const struct tree_level *level = r == 1 ? &levels[depth] : &above;
        bool is_it =
            fd < 0 || (level->device == levels[0].device && level->inode == levels[depth].inode);
        if (WALL(file_levels, !is_it))
            return -EBUSY;
    }
    return fd;
}

static int remove_file(struct work *work)
{
    struct place place;
    int r = find(work, work->request->paths, WAY_KEEPS_LAST, &place);
    if (r == 0 && place.name[0] == '\0')
        r = -EBUSY;
    if (r == 0 && unlinkat(place.directory, place.name, 0) == 0)
        return 0;
    if (r == 0 && errno != EISDIR)
        r = failed(work, SYS_unlinkat);
    if (r == 0 && work->request->kind == FILE_REQUEST_REMOVE_TREE)
        r = empty_tree(work, &place);
    if (r == 0 && unlinkat(place.directory, place.name, AT_REMOVEDIR) < 0)
        r = failed(work, SYS_unlinkat);
    return r;
}

/* The process. */

static int perform(struct work *work)
{
    switch ((enum file_request_kind)work->request->kind) {
    case FILE_REQUEST_READ:
        return read_file(work);
    case FILE_REQUEST_WRITE:
        return write_file(work);
    case FILE_REQUEST_APPEND:
        return append(work);
    case FILE_REQUEST_LIST:
        return list(work);
    case FILE_REQUEST_STAT:
        return tell_stat(work);
    case FILE_REQUEST_MKDIR:
        return make_directory(work);
    case FILE_REQUEST_MOVE:
        return move(work);
    case FILE_REQUEST_REMOVE:
    case FILE_REQUEST_REMOVE_TREE:
        return remove_file(work);
    }
    return -ENOSYS;
}

/* What can be refused is, and no signal but SIGKILL and SIGSTOP comes between: no file is left half done. */
static int become_worker(struct work *work)
{
    const uint64_t all = UINT64_MAX;
    int r = init_prepare_program(work->jail, NULL, work->streams, STDERR_FILENO + 1);
    if (r < 0)
        return r;
    umask(0);
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all)) < 0)
        return failed(work, SYS_rt_sigprocmask);
    if (syscall(SYS_close_range, STDERR_FILENO + 1U, UINT_MAX, 0U) < 0)
        return failed(work, SYS_close_range);
    return 0;
}

STACK_OF_ITS_OWN static int worker_main(void *data)
{
    struct work *work = data;
    work->answer.call = -1;
    int r = become_worker(work);
    if (r < 0)
        _exit(-r);
    work->answer.error = -perform(work);
    struct file_answer answer = work->answer; /* without itself in its length */
    r = say(work, &answer, sizeof(answer));
    _exit(r < 0 ? -r : -flush(work));
}

int file_request_start(struct jail *jail, const struct file_request *request, const int *streams)
{
    struct work work = {.jail = jail, .request = request, .streams = streams};
    return init_clone(worker_main, &work, CLONE_OF_MEMORY);
}
