#include "sandbox/jail/child/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define WAITING_MAX 65536 /* more processes at once than any run may have */
#define PATH_SIZE 64

/* Processes whose children are not known yet. */
struct waiting {
    pid_t pids[WAITING_MAX];
    size_t count;
};

/* getdents64(2) */
struct process_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static size_t append(char *text, size_t length, const char *more)
{
    size_t size = strlen(more);
    memcpy(text + length, more, size + 1);
    return length + size;
}

static size_t append_number(char *text, size_t length, pid_t number)
{
    char digits[16];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    for (unsigned left = (unsigned)number; at > 0 && (left > 0 || digits[at] == '\0'); left /= 10)
        digits[--at] = (char)('0' + left % 10);
    return append(text, length, digits + at);
}

/* "/proc/PID/task" */
static size_t make_path(char path[PATH_SIZE], pid_t pid)
{
    size_t length = append_number(path, append(path, 0, "/proc/"), pid);
    return append(path, length, "/task");
}

/* The pids in a text of decimal numbers, each followed by a space. */
static void add_children(int fd, int signal, struct waiting *waiting)
{
    char text[1024];
    pid_t pid = 0;
    for (ssize_t length; (length = read(fd, text, sizeof(text))) > 0;) {
        for (ssize_t i = 0; i < length; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            if (pid > 1 && kill(pid, signal) == 0 && waiting->count < WAITING_MAX)
                waiting->pids[waiting->count++] = pid;
            pid = 0;
        }
    }
}

/* The children of each thread of a process. One that has just ended has none. */
static int signal_children(pid_t pid, int signal, struct waiting *waiting)
{
    char path[PATH_SIZE];
    char entries[2048];
    size_t length = make_path(path, pid);
    int threads = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (threads < 0)
        return -errno;
    long size;
    while ((size = syscall(SYS_getdents64, threads, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < size;) {
            const struct process_entry *entry =
                (const struct process_entry *)(const void *)(entries + at);
            at += entry->length;
            if (entry->name[0] == '.' || strlen(entry->name) > 16)
                continue;
            append(path, append(path, append(path, length, "/"), entry->name), "/children");
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd < 0)
                continue;
            add_children(fd, signal, waiting);
            close(fd);
        }
    }
    int r = size < 0 ? -errno : 0;
    close(threads);
    return r;
}

int process_tree_signal(int signal)
{
    static struct waiting waiting; /* large: not on the stack */
    waiting.count = 0;
    int r = signal_children(getpid(), signal, &waiting);
    while (r == 0 && waiting.count > 0)
        (void)signal_children(waiting.pids[--waiting.count], signal, &waiting);
    return r;
}
