#include "sandbox/limits/proc_usage.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/process_walk.h"
#include "sandbox/base/text_file.h"
#include "sandbox/limits/meminfo.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define INIT_PID "1"
#define PROCESS_FILE_MAX 4096

static bool read_file(int directory_fd, const char *path, char text[PROCESS_FILE_MAX])
{
    return text_file_read(directory_fd, path, text, PROCESS_FILE_MAX) == 0;
}

/*
 * Opens a file of a process through any of its threads: the first may have ended. Before execve the
 * process is a copy of this server and not readable.
 */
static int open_of(int program, const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", program);
    OWNED(directory_release) DIR *threads = directory_open(AT_FDCWD, path);
    int fd = -1;
    for (const char *thread; fd < 0 && (thread = directory_next_number(threads)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/%d/task/%.16s/%s", program, thread, name);
        fd = open(path, flags | O_CLOEXEC);
    }
    return fd;
}

/* The first child of a process without threads. 0; -ECHILD: it has none; or another negative errno. */
static int first_child(pid_t pid, int *ret_child)
{
    char path[64];
    char children[32];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    int r = text_file_read(AT_FDCWD, path, children, sizeof(children));
    if (r < 0)
        return r;
    return sscanf(children, "%d", ret_child) == 1 ? 0 : -ECHILD;
}

/* Takes the host's /proc, where the jail is what is below a process. 0 or negative errno. */
static int take_host(struct proc_usage *usage, pid_t root, bool has_guard)
{
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    usage->proc_fd = fd;
    usage->root = root;
    usage->has_guard = has_guard;
    usage->shared_growth = 0;
    usage->kernel_growth = 0;
    return 0;
}

const char *proc_usage_missing(const char *proc)
{
    static const char *const needed[] = {"meminfo", "thread-self/children", "thread-self/stat",
                                         "thread-self/status", "thread-self/maps"};
    OWNED_FD int fd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return "";
    for (size_t i = 0; i < ARRAY_LENGTH(needed); i++)
        if (faccessat(fd, needed[i], R_OK, 0) < 0)
            return needed[i];
    return NULL;
}

/* Below a guard, all is readable by the user of the program, and by root. */
static int open_below(struct proc_usage *usage, pid_t guard)
{
    int init;
    int program;
    int r = first_child(guard, &init);
    if (r == 0)
        r = first_child(init, &program);
    return r < 0 ? r : take_host(usage, guard, true);
}

static bool is_proc(int fd)
{
    struct statfs about;
    return fstatfs(fd, &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

int proc_usage_open(struct proc_usage *usage, pid_t init, bool has_guard)
{
    if (has_guard)
        return open_below(usage, init);
    int program;
    int r = first_child(init, &program);
    if (r < 0)
        return r;
    OWNED_FD int root_fd = open_of(program, "root", O_PATH | O_DIRECTORY);
    OWNED_FD int proc_fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    OWNED_FD int scratch_fd = openat(root_fd, "tmp", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (proc_fd < 0 || scratch_fd < 0)
        return -EACCES;
    bool has_proc = is_proc(proc_fd);
    OWNED_FD int sockstat_fd = has_proc
                                   ? openat(proc_fd, INIT_PID "/net/sockstat", O_RDONLY | O_CLOEXEC)
                                   : open_of(program, "net/sockstat", O_RDONLY);
    struct socket_memory sockets = {sockstat_fd, -1, -1};
    struct socket_count ignored;
    if (!socket_memory_count(&sockets, &ignored))
        return -EACCES;
    r = has_proc ? 0 : take_host(usage, init, false);
    if (r < 0)
        return r;
    if (has_proc)
        usage->proc_fd = fd_take(&proc_fd);
    usage->scratch_fd = fd_take(&scratch_fd);
    usage->sockets =
        (struct socket_memory){fd_take(&sockstat_fd), open_of(program, "ns/user", O_RDONLY),
                               open_of(program, "ns/net", O_RDONLY)};
    usage->shared_growth = 0;
    usage->kernel_growth = 0;
    return 0;
}

int proc_usage_leave_program(struct proc_usage *usage, pid_t init)
{
    int program;
    int r = first_child(init, &program);
    if (r < 0)
        return r;
    fd_close(&usage->proc_fd);
    usage->is_of_program = true;
    return take_host(usage, program, false);
}

void proc_usage_close(struct proc_usage *usage)
{
    fd_close(&usage->proc_fd);
    fd_close(&usage->scratch_fd);
    socket_memory_close(&usage->sockets);
}

bool proc_usage_parse_stat(const char *text, struct proc_usage_sample *count)
{
    /* The name in parentheses may contain anything, even ")". Fields 14 to 17 and 20. */
    const char *at = strrchr(text, ')');
    uint64_t user, system, children_user, children_system, threads;
    if (at == NULL || sscanf(at + 1,
                             " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                             " %" SCNu64 " %" SCNu64 " %*d %*d %" SCNu64,
                             &user, &system, &children_user, &children_system, &threads) != 5)
        return false;
    uint64_t ticks = user + system + children_user + children_system;
    count->cpu_ns +=
        (int64_t)(ticks * (uint64_t)NANOSECONDS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
    count->processes += threads;
    return true;
}

bool proc_usage_parse_status(const char *text, struct proc_usage_sample *count)
{
    if (strstr(text, "\nVmRSS:") == NULL)
        return false;
    count->resident_bytes +=
        meminfo_line_bytes(text, "\nRssAnon:") + meminfo_line_bytes(text, "\nRssShmem:") +
        meminfo_line_bytes(text, "\nVmPTE:") + meminfo_line_bytes(text, "\nVmSwap:");
    return true;
}

static uint64_t file_bytes(const struct proc_usage *usage)
{
    uint64_t bytes = 0;
    struct statfs files;
    if (usage->scratch_fd >= 0 && fstatfs(usage->scratch_fd, &files) == 0)
        bytes = (uint64_t)(files.f_blocks - files.f_bfree) * (uint64_t)files.f_bsize;
    for (size_t i = 0; i < ARRAY_LENGTH(usage->memory_fds); i++) {
        struct stat about;
        if (usage->memory_fds[i] >= 0 && fstat(usage->memory_fds[i], &about) == 0)
            bytes += (uint64_t)about.st_blocks * 512;
    }
    return bytes;
}

/*
 * A file of a process, by any of its threads: once the first thread has ended, its files no longer
 * show the memory. (Every thread has a directory in /proc, listed or not.) A usable file contains
 * `mark`.
 */
static bool read_of_process(const struct proc_usage *usage, const char *name, const char *file,
                            const char *mark, char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "%.16s/%s", name, file);
    if (read_file(usage->proc_fd, path, text) && strstr(text, mark) != NULL)
        return true;
    snprintf(path, sizeof(path), "%.16s/task", name);
    OWNED(directory_release) DIR *threads = directory_open(usage->proc_fd, path);
    for (const char *thread; (thread = directory_next_number(threads)) != NULL;) {
        snprintf(path, sizeof(path), "%.16s/%s", thread, file);
        if (read_file(usage->proc_fd, path, text) && strstr(text, mark) != NULL)
            return true;
    }
    return false;
}

/* A zombie counts as a process without memory. One that has just gone does not count. */
static void count_process(const struct proc_usage *usage, const char *name,
                          struct proc_usage_sample *count)
{
    char path[64];
    char text[PROCESS_FILE_MAX];
    snprintf(path, sizeof(path), "%.16s/stat", name);
    if (read_file(usage->proc_fd, path, text))
        proc_usage_parse_stat(text, count);
    if (read_of_process(usage, name, "status", "\nVmRSS:", text))
        proc_usage_parse_status(text, count);
}

bool proc_usage_is_ours(const struct proc_usage *usage, const char *name, size_t position)
{
    if (usage->root == 0)
        return strcmp(name, INIT_PID) == 0;
    return !usage->is_of_program && position <= (size_t)usage->has_guard;
}

void proc_usage_sample_take(const struct proc_usage *usage, struct proc_usage_sample *ret_count)
{
    struct proc_usage_sample count = {.file_bytes = file_bytes(usage),
                                      .shared_growth = usage->shared_growth,
                                      .kernel_growth = usage->kernel_growth};
    OWNED(process_walk_release)
    struct process_walk processes = process_walk_open(usage->proc_fd, usage->root);
    size_t position = 0;
    for (const char *name; (name = process_walk_next(&processes)) != NULL;) {
        struct proc_usage_sample init = {0};
        /* only the processor time of init counts */
        count_process(usage, name, proc_usage_is_ours(usage, name, position++) ? &init : &count);
        count.cpu_ns += init.cpu_ns;
    }
    if (usage->sockets.sockstat_fd >= 0)
        socket_memory_count(&usage->sockets, &count.sockets);
    *ret_count = count;
}

/*
 * Adds the size of a process's shared mappings, from a file like /proc/PID/maps. False: it has no
 * mappings at all.
 */
static bool add_shared_mappings(int directory_fd, const char *path, uint64_t *sum)
{
    int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "re") : NULL;
    if (file == NULL) {
        fd_close(&fd);
        return false;
    }
    bool has_mappings = false;
    uint64_t begin, end;
    char sharing;
    /* In a jail no path is longer than PATH_MAX, and newlines are escaped. */
    while (fscanf(file, "%" SCNx64 "-%" SCNx64 " %*3c%c%*[^\n]", &begin, &end, &sharing) == 3) {
        has_mappings = true;
        *sum += sharing == 's' ? end - begin : 0;
    }
    fclose(file);
    return has_mappings;
}

/* An upper bound for shared pages given up with madvise(2): the kernel shows them nowhere else. */
static uint64_t shared_mappings(const struct proc_usage *usage)
{
    uint64_t sum = 0;
    OWNED(process_walk_release)
    struct process_walk processes = process_walk_open(usage->proc_fd, usage->root);
    for (const char *name; (name = process_walk_next(&processes)) != NULL;) {
        char path[64];
        snprintf(path, sizeof(path), "%.16s/task", name);
        OWNED(directory_release) DIR *threads = directory_open(usage->proc_fd, path);
        for (const char *thread; (thread = directory_next_number(threads)) != NULL;) {
            snprintf(path, sizeof(path), "%.16s/maps", thread);
            if (add_shared_mappings(usage->proc_fd, path, &sum))
                break; /* the threads share them */
        }
    }
    return sum;
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct proc_census proc_usage_census(const struct proc_usage *usage)
{
    struct proc_census census = {0};
    OWNED(process_walk_release)
    struct process_walk processes = process_walk_open(usage->proc_fd, usage->root);
    for (const char *name; (name = process_walk_next(&processes)) != NULL;) {
        int64_t number = strtoll(name, NULL, 10);
        census.count++;
        census.newest = number > census.newest ? number : census.newest;
    }
    return census;
}

bool proc_census_is_same(const struct proc_census *one, const struct proc_census *other)
{
    return one->count == other->count && one->newest == other->newest;
}

uint64_t proc_usage_pss(const struct proc_usage *usage, uint64_t enough)
{
    struct proc_usage_sample closed = {0};
    uint64_t private_bytes = 0;
    uint64_t shared_bytes = 0;
    OWNED(process_walk_release)
    struct process_walk processes = process_walk_open(usage->proc_fd, usage->root);
    size_t position = 0;
    for (const char *name;
         private_bytes <= enough && (name = process_walk_next(&processes)) != NULL;) {
        char text[PROCESS_FILE_MAX];
        if (proc_usage_is_ours(usage, name, position++))
            continue;
        if (!read_of_process(usage, name, "smaps_rollup", "\nPss_Anon:", text)) {
            /* It has ended or is unreadable; unreadable memory must still count. */
            count_process(usage, name, &closed);
            continue;
        }
        private_bytes +=
            meminfo_line_bytes(text, "\nPss_Anon:") + meminfo_line_bytes(text, "\nSwapPss:");
        shared_bytes += meminfo_line_bytes(text, "\nPss_Shmem:");
        if (read_of_process(usage, name, "status", "\nVmRSS:", text))
            private_bytes += meminfo_line_bytes(text, "\nVmPTE:");
    }
    /* A mapped file of the tmpfs is in both: count the larger. */
    uint64_t files = file_bytes(usage);
    private_bytes += closed.resident_bytes;
    shared_bytes = max_of(files, shared_bytes);
    if (usage->shared_growth > shared_bytes && private_bytes + usage->shared_growth > enough)
        shared_bytes =
            max_of(shared_bytes, min_of(usage->shared_growth, files + shared_mappings(usage)));
    return private_bytes + shared_bytes;
}
