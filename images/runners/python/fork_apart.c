/*
 * The library by which checkpoints.py forks: it sets sys.fork_apart(), and its import then fails, as that of template.c does,
 * which says how it can do without headers of Python.
 *
 * fork_apart(numbers) takes ints, in bytes, the first of which says what is to be done. It returns a number of 0 or more, or the
 * negative number of what stands in the way, as checkpoints.py has them.
 *
 * LOOK, count, descriptors...: at what this process has open, and its memory. So many of the descriptors lead nowhere in a copy;
 *   others it may share.
 * FORK, threads: after that makes a copy of this process that is not its child but that of whoever started it, not in its
 *   process group, and returns its pid. So many threads libraries may start anew at once. In the copy it returns 0
 *   when init says that it is to go on, with all signals blocked. Until then the copy does nothing that Python would do after a
 *   fork: each page that one of the two touches has to be copied.
 * SIGNAL: in a copy, lets signals through as before.
 *
 * The child in between shares this memory, so that one copy is made and not two; fork(3) and not clone(2), because libraries
 * stop their threads for it: pthread_atfork(3). System calls are made by number where names of the C library have versions.
 *
 * Side: child, in the interpreter.  Source: vfork(2), fork(2), proc_pid_fd(5), proc_pid_maps(5).
 */
#include "images/runners/python/python_api.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES_MAX 1024   /* open regular files */
#define SOCKETS_MAX 1024 /* and sockets */
#define SIGNALS_SIZE 8   /* of a set, for the kernel */

enum step { LOOK, FORK, SIGNAL };

enum { THREADS = -1, PIPES = -3, SHARED_MEMORY = -4, NO_FORK = -7, UNKNOWN = -8, LOCKS = -9 };

python_object *PyLong_FromLong(long value);
int PyBytes_AsStringAndSize(python_object *bytes, char **text, long *size);
void PyOS_AfterFork_Parent(void);

__attribute__((visibility("default"))) python_object *PyInit_fork_apart(void);

struct numbered_entry { /* getdents64(2) */
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

static const int64_t at_once[2]; /* a time */

/* What a copy has to put right. */
static struct {
    pid_t init;
    uint64_t signals; /* that were blocked */
    size_t file_count, socket_count;
    struct {
        int fd;
        off_t offset; /* which both share */
    } files[FILES_MAX];
    int sockets[SOCKETS_MAX];
} state;

static union {
    char text[4096];
    uint64_t aligned;
} buffer;

static int number_of(const char *name)
{
    int number = 0;
    for (; *name >= '0' && *name <= '9'; name++)
        number = number * 10 + (*name - '0');
    return *name == '\0' ? number : -1;
}

/* Calls `meet` for each number in a directory of /proc, until one returns less than 0. The last, or a negative number. */
static int each_number(const char *path, int (*meet)(int number, void *data), void *data)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = directory < 0 ? UNKNOWN : 0;
    long length = 0;
    while (r == 0 &&
           (length = syscall(SYS_getdents64, directory, buffer.text, sizeof(buffer.text))) > 0) {
        for (long at = 0; r == 0 && at < length;) {
            const struct numbered_entry *entry = (const void *)(buffer.text + at);
            int number = entry->name[0] == '.' ? -1 : number_of(entry->name);
            if (number >= 0 && number != directory)
                r = meet(number, data);
            at += entry->length;
        }
    }
    if (directory >= 0)
        close(directory);
    return r == 0 && length < 0 ? UNKNOWN : r;
}

/*
 * Whether a lock of this process is on that file: one of flock(2) would be held by a copy, too, and go on when this process has
 * closed the file; one of fcntl(2) by none. A negative number of neither: it cannot be read.
 */
static int look_at_locks(int fd)
{
    static const char path[] = "/proc/self/fdinfo/";
    char text[1024] = "";
    char digits[12];
    size_t count = 0;
    size_t end = sizeof(path) - 1;
    for (size_t i = 0; i < end; i++)
        text[i] = path[i];
    do
        digits[count++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (count > 0)
        text[end++] = digits[--count];
    text[end] = '\0';
    int file = open(text, O_RDONLY | O_CLOEXEC);
    long length = file < 0 ? -1 : read(file, text, sizeof(text));
    if (file >= 0)
        close(file);
    if (length < 0)
        return UNKNOWN;
    for (long at = 0; at + 5 < length; at++)
        if (text[at] == 'l' && text[at + 1] == 'o' && text[at + 2] == 'c' && text[at + 3] == 'k' &&
            text[at + 4] == ':')
            return LOCKS;
    return 0;
}

struct numbers {
    const int *all;
    size_t count;
};

static int look_at_descriptor(int fd, void *data)
{
    const struct numbers *own = data;
    struct stat status;
    for (size_t i = 0; i < own->count; i++)
        if (own->all[i] == fd)
            return 0;
    if (syscall(SYS_fstat, fd, &status) < 0)
        return UNKNOWN;
    switch (status.st_mode & S_IFMT) {
    case S_IFREG:
        if (state.file_count == FILES_MAX)
            return UNKNOWN;
        state.files[state.file_count].fd = fd;
        state.files[state.file_count++].offset = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
        return look_at_locks(fd);
    case S_IFSOCK:
        if (state.socket_count == SOCKETS_MAX)
            return UNKNOWN;
        state.sockets[state.socket_count++] = fd;
        return 0;
    case S_IFDIR:
    case S_IFCHR:
        return 0;
    default:
        return PIPES;
    }
}

/* Whether an area of memory is shared with others that may see what is written. */
static int look_at_memory(void)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return UNKNOWN;
    int r = 0;
    int place = -1; /* in "rw-s": -1: before it; 4: behind */
    bool can_write = false;
    long length = 0;
    while (r == 0 && (length = read(fd, buffer.text, sizeof(buffer.text))) > 0) {
        for (long at = 0; at < length; at++) {
            char letter = buffer.text[at];
            if (letter == '\n')
                place = -1;
            else if (place == -1)
                place += letter == ' ';
            else if (place < 4) {
                can_write = place == 1 ? letter == 'w' : can_write;
                if (place++ == 3 && letter == 's' && can_write)
                    r = SHARED_MEMORY;
            }
        }
    }
    close(fd);
    return r == 0 && length < 0 ? UNKNOWN : r;
}

static int count_one(int number, void *count)
{
    (void)number;
    ++*(int *)count;
    return 0;
}

/* The other side of each connection must see it closed when the interpreter closes it. Its number stays in use. */
static bool leave_connections(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    close(pair[1]);
    for (size_t i = 0; i < state.socket_count; i++) {
        long flags = syscall(SYS_fcntl, state.sockets[i], F_GETFD, 0);
        if (syscall(SYS_dup3, pair[0], state.sockets[i],
                    flags >= 0 && (flags & FD_CLOEXEC) == 0 ? 0 : O_CLOEXEC) < 0)
            return false;
    }
    close(pair[0]);
    return true;
}

/* Until init, and nobody else, says by kill(2) that it is to go on. The kernel vouches for the sender. */
static void wait_for_init(void)
{
    const uint64_t signals = UINT64_C(1) << (SIGURG - 1);
    siginfo_t told;
    do
        told.si_code = 0;
    while (syscall(SYS_rt_sigtimedwait, &signals, &told, NULL, SIGNALS_SIZE) != SIGURG ||
           told.si_code != SI_USER || told.si_pid != state.init);
}

/* That all processes have got meanwhile: they were not meant for the interpreter that it becomes. */
static void drop_signals(void)
{
    const uint64_t signals = UINT64_MAX;
    while (syscall(SYS_rt_sigtimedwait, &signals, NULL, at_once, SIGNALS_SIZE) > 0)
        ;
}

/* Returns when it is to go on. Whatever fails, this does not become a second interpreter. */
static void be_copy(const int *pipe)
{
    if (pipe != NULL) {
        if (!leave_connections() || write(pipe[1], "", 1) != 1)
            _exit(1);
        close(pipe[0]);
        close(pipe[1]);
    }
    wait_for_init();
    drop_signals();
    if (setsid() < 0)
        _exit(1);
    for (size_t i = 0; i < state.file_count; i++)
        if (state.files[i].offset >= 0)
            syscall(SYS_lseek, state.files[i].fd, state.files[i].offset, SEEK_SET);
}

/* In the copy: 0, when it is to go on. The process between shares this one's memory: page tables are copied once. */
/* NOLINTBEGIN(*vfork,*Vfork,*unsafe-functions,cert-msc*) */
static pid_t make_copy(const int *pipe)
{
    static volatile pid_t copy;
    copy = NO_FORK;
    PyOS_BeforeFork();
    pid_t between = vfork();
    if (between == 0) {
        setpgid(0, 0); /* a session would have a share of the processor of its own: sched(7) */
        pid_t pid = fork();
        if (pid == 0) { /* with a stack of its own, as this process was here */
            be_copy(pipe);
            PyOS_AfterFork_Child();
            return 0;
        }
        copy = pid > 0 ? pid : NO_FORK;
        _exit(0);
    }
    PyOS_AfterFork_Parent();
    while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
        ; /* ECHILD: the cell ignores SIGCHLD */
    const uint64_t signals = UINT64_C(1) << (SIGCHLD - 1);
    syscall(SYS_rt_sigtimedwait, &signals, NULL, at_once, SIGNALS_SIZE); /* of that one */
    return copy;
}
/* NOLINTEND(*vfork,*Vfork,*unsafe-functions,cert-msc*) */

/* Not while the copy has connections that this process may close. */
static pid_t make_copy_without_connections(void)
{
    int pipe[2];
    char left;
    if (syscall(SYS_pipe2, pipe, O_CLOEXEC) < 0)
        return NO_FORK;
    pid_t copy = make_copy(pipe);
    if (copy == 0)
        return 0;
    close(pipe[1]);
    if (copy > 0 && read(pipe[0], &left, 1) != 1)
        copy = NO_FORK; /* it has ended */
    close(pipe[0]);
    return copy;
}

/* After a fork, for which libraries have stopped theirs; some start so many anew at once. */
static bool has_threads(int anew)
{
    int count = 0;
    return each_number("/proc/self/task", count_one, &count) < 0 ||
           (count != 1 && count != 1 + anew);
}

static void set_signals(uint64_t blocked, uint64_t *ret_former)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, ret_former, SIGNALS_SIZE);
}

static long look(const struct numbers *given)
{
    const int *all = given->all + 1;
    if (given->count < 2 || all[0] < 0 || (size_t)all[0] > given->count - 2)
        return UNKNOWN;
    state.file_count = 0;
    state.socket_count = 0;
    struct numbers own = {all + 1, given->count - 2};
    int r = each_number("/proc/self/fd", look_at_descriptor, &own);
    if (r == 0)
        r = look_at_memory();
    for (int i = 0; r == 0 && i < all[0]; i++) {
        if (state.socket_count == SOCKETS_MAX)
            return UNKNOWN;
        state.sockets[state.socket_count++] = all[1 + i];
    }
    return r;
}

static long copy_apart(int anew)
{
    set_signals(UINT64_MAX, &state.signals);
    pid_t copy = state.socket_count > 0 ? make_copy_without_connections() : make_copy(NULL);
    if (copy == 0)
        return 0;
    set_signals(state.signals, NULL);
    if (copy > 0 && has_threads(anew)) {
        kill(copy, SIGKILL);
        return THREADS;
    }
    return copy;
}

static long perform(const struct numbers *given)
{
    enum step step = given->count > 0 ? (enum step)given->all[0] : SIGNAL;
    if (step == LOOK)
        return look(given);
    if (step == FORK && given->count == 2)
        return copy_apart(given->all[1]);
    set_signals(state.signals, NULL);
    return 0;
}

static python_object *fork_apart(python_object *self, python_object *bytes)
{
    char *text;
    long size;
    (void)self;
    if (PyBytes_AsStringAndSize(bytes, &text, &size) < 0)
        return NULL;
    const struct numbers given = {(const int *)(const void *)text, (size_t)size / sizeof(int)};
    return PyLong_FromLong(perform(&given));
}

python_object *PyInit_fork_apart(void)
{
    static struct python_method method = {"fork_apart", fork_apart, METH_O, NULL};
    python_object *function = PyCFunction_NewEx(&method, NULL, NULL);
    if (function == NULL)
        return NULL;
    state.init = getppid();
    PySys_SetObject("fork_apart", function);
    PyErr_SetNone(PyExc_ImportError);
    return NULL;
}
