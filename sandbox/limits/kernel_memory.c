/* The bound on kernel memory: proc_usage_kernel_bound(). */
#include "sandbox/limits/proc_usage.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/process_walk.h"
#include "sandbox/base/text_file.h"
#include "sandbox/limits/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * What one of each costs the kernel at most, rounded up. A thread: its stack and structures, and the table of a poll(2)
 * of all its descriptors. An area: its structures, and a link for each process that it may have been copied from. A
 * socket: its options; and its data, where nothing else counts it.
 */
#define JAIL_BYTES (8 * MEBIBYTE) /* its queues, timers, signals, caches of addresses */
#define THREAD_BYTES (128 * KIBIBYTE)
#define AREA_BYTES 512
#define AREA_LINK_BYTES 64
#define DESCRIPTOR_BYTES (2 * KIBIBYTE)
#define FILE_NODE_BYTES (2 * KIBIBYTE) /* on a tmpfs */
#define SOCKET_BYTES (160 * KIBIBYTE)
#define SOCKET_DATA_BYTES MEBIBYTE
#define EVENT_QUEUE_BYTES (6 * MEBIBYTE) /* of inotify: 16384 names */
#define WATCHES_BYTES MEBIBYTE /* of epoll: some 4000, which spares reading how many there are */
/* A line of fdinfo, which stands for a watch or a lock, has a quarter of the bytes of these. */
#define FDINFO_FACTOR 4

/* A pipe always gets two pages; of more, all pipes of a user have no more than a soft limit. */
#define PIPE_BYTES (8 * KIBIBYTE)
#define PIPE_MAX_DEFAULT MEBIBYTE
#define PIPE_PAGES_SOFT_DEFAULT 16384

#define TEXT_SIZE 4096

struct kernel_memory {
    uint64_t bytes;
    uint64_t pipes, areas, processes;
    uint64_t pipe_max, pipes_soft; /* bytes */
    bool counts_sockets;
    bool is_hidden; /* something cannot be seen */
};

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t sum_of(const struct kernel_memory *memory)
{
    if (memory->is_hidden)
        return UINT64_MAX;
    return memory->bytes + memory->pipes * PIPE_BYTES +
           least(memory->pipes * memory->pipe_max, memory->pipes_soft) +
           memory->areas * (AREA_BYTES + AREA_LINK_BYTES * memory->processes);
}

static uint64_t setting(const char *path, uint64_t otherwise)
{
    char text[32] = "";
    uint64_t number;
    text_file_read(AT_FDCWD, path, text, sizeof(text));
    return sscanf(text, "%" SCNu64, &number) == 1 ? number : otherwise;
}

static uint64_t nodes_of(const struct proc_usage *usage)
{
    struct statfs files;
    if (usage->scratch_fd < 0 || fstatfs(usage->scratch_fd, &files) != 0)
        return 0;
    return (uint64_t)(files.f_files - files.f_ffree) * FILE_NODE_BYTES;
}

/* Whether an error means that there is something, but not for us; what has gone just now holds nothing. */
static bool is_refusal(int error)
{
    return error == EACCES || error == EPERM || error == EMFILE || error == ENFILE ||
           error == ENOMEM;
}

/* A descriptor of a Unix socket under way takes what it holds with it, out of sight. */
static bool has_descriptors_under_way(const char *text)
{
    const char *line = strstr(text, "scm_fds:");
    unsigned count = 0;
    return line != NULL && sscanf(line, "scm_fds: %u", &count) == 1 && count > 0;
}

/* The whole length of a file; the beginning is in `text`. 0 if it has gone. */
static uint64_t read_all(int directory_fd, const char *path, char text[TEXT_SIZE],
                         struct kernel_memory *memory)
{
    OWNED_FD int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
    memory->is_hidden = memory->is_hidden || (fd < 0 && is_refusal(errno));
    text[0] = '\0';
    uint64_t length = 0;
    char more[TEXT_SIZE];
    ssize_t got = fd >= 0 ? read(fd, text, TEXT_SIZE - 1) : 0;
    if (got > 0)
        text[got] = '\0';
    for (; got > 0; got = read(fd, more, sizeof(more)))
        length += (uint64_t)got;
    return length;
}

static bool is_pipe(int descriptors_fd, const char *name, const char *target)
{
    struct stat about;
    return strncmp(target, "pipe:", strlen("pipe:")) == 0 ||
           (target[0] == '/' && fstatat(descriptors_fd, name, &about, 0) == 0 &&
            S_ISFIFO(about.st_mode));
}

/* `thread_fd`: the directory of a thread in /proc; `descriptors_fd`: fd in it. */
static void add_descriptor(struct kernel_memory *memory, int thread_fd, int descriptors_fd,
                           const char *name)
{
    char path[64];
    char text[TEXT_SIZE];
    ssize_t length = readlinkat(descriptors_fd, name, text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    memory->is_hidden = memory->is_hidden || (length < 0 && is_refusal(errno));
    memory->bytes += DESCRIPTOR_BYTES;
    if (is_pipe(descriptors_fd, name, text)) {
        memory->pipes++;
        return;
    }
    bool is_socket = strncmp(text, "socket:", strlen("socket:")) == 0;
    if (is_socket)
        memory->bytes += SOCKET_BYTES + (memory->counts_sockets ? 0 : SOCKET_DATA_BYTES);
    if (strcmp(text, "anon_inode:inotify") == 0)
        memory->bytes += EVENT_QUEUE_BYTES;
    if (strcmp(text, "anon_inode:[eventpoll]") == 0)
        memory->bytes += WATCHES_BYTES;
    snprintf(path, sizeof(path), "fdinfo/%.16s", name);
    memory->bytes += FDINFO_FACTOR * read_all(thread_fd, path, text, memory);
    memory->is_hidden = memory->is_hidden || (is_socket && has_descriptors_under_way(text));
}

/* Adds what a thread has open: threads need not share their descriptors. */
static void add_descriptors(struct kernel_memory *memory, int thread_fd, uint64_t enough)
{
    OWNED(directory_release) DIR *descriptors = directory_open(thread_fd, "fd");
    int fd = descriptors != NULL ? dirfd(descriptors) : -1;
    if (fd < 0) {
        char status[TEXT_SIZE];
        int refusal = errno;
        /* One that has ended has no files, and no memory either. */
        text_file_read(thread_fd, "status", status, sizeof(status));
        memory->is_hidden =
            memory->is_hidden || (is_refusal(refusal) && strstr(status, "\nVmRSS:") != NULL);
        return;
    }
    const char *name;
    while (sum_of(memory) < enough && (name = directory_next_number(descriptors)) != NULL)
        add_descriptor(memory, thread_fd, fd, name);
}

/* Adds the areas of a process. False: it has none by this thread. */
static bool add_areas(struct kernel_memory *memory, int thread_fd)
{
    OWNED_FD int fd = openat(thread_fd, "maps", O_RDONLY | O_CLOEXEC);
    memory->is_hidden = memory->is_hidden || (fd < 0 && is_refusal(errno));
    uint64_t before = memory->areas;
    char text[TEXT_SIZE];
    for (ssize_t got; fd >= 0 && (got = read(fd, text, sizeof(text))) > 0;) {
        for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + got - at))) != NULL;
             at++)
            memory->areas++;
    }
    return memory->areas > before;
}

static void add_process(struct kernel_memory *memory, int proc_fd, const char *process,
                        uint64_t enough)
{
    char path[64];
    snprintf(path, sizeof(path), "%.16s/task", process);
    OWNED(directory_release) DIR *threads = directory_open(proc_fd, path);
    int fd = threads != NULL ? dirfd(threads) : -1;
    bool has_areas = false;
    if (fd < 0) {
        memory->is_hidden = memory->is_hidden || is_refusal(errno);
        return;
    }
    memory->processes++;
    for (const char *thread; (thread = directory_next_number(threads)) != NULL;) {
        OWNED_FD int thread_fd = openat(fd, thread, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (thread_fd < 0)
            continue;
        memory->bytes += THREAD_BYTES;
        has_areas = has_areas || add_areas(memory, thread_fd);
        add_descriptors(memory, thread_fd, enough);
    }
}

uint64_t proc_usage_kernel_bound(const struct proc_usage *usage, uint64_t enough)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t soft = setting("/proc/sys/fs/pipe-user-pages-soft", PIPE_PAGES_SOFT_DEFAULT) * page;
    struct kernel_memory memory = {
        .bytes = JAIL_BYTES + nodes_of(usage),
        .pipe_max = setting("/proc/sys/fs/pipe-max-size", PIPE_MAX_DEFAULT),
        .pipes_soft = soft > 0 ? soft : UINT64_MAX, /* 0: there is no such limit */
        .counts_sockets = usage->sockets.sockstat_fd >= 0,
    };
    OWNED(process_walk_release)
    struct process_walk processes = process_walk_open(usage->proc_fd, usage->root);
    size_t position = 0;
    const char *name;
    while (sum_of(&memory) < enough && (name = process_walk_next(&processes)) != NULL) {
        if (!proc_usage_is_ours(usage, name, position++))
            add_process(&memory, usage->proc_fd, name, enough);
    }
    return sum_of(&memory);
}
