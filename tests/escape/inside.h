/*
 * What every attempt in C finds inside the jail: put in front of their functions by in_c.py, which also lists them.
 *
 * On stdin there are the label of an attempt, whether a wall is away, what there is to find outside (see bait.py), and a line
 * "end": a program that has more descriptors than it should may wait for ever for the end of the file.
 */
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define KNOWN_MAX 32
#define STACK_SIZE 65536
#define PAGE 4096

struct attempt {
    const char *label;
    const char *(*make)(void);
};
static const struct attempt attempts[];

static struct {
    char name[32], value[256];
} known[KNOWN_MAX];
static bool twin;
static char empty[STACK_SIZE]; /* for calls that want a place in memory */

static const char *host(const char *name)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].value;
    exit(3);
}

/* Of a call of the C library. */
static const char *word_of(long value)
{
    return value == -1 ? strerrorname_np(errno) : "done";
}

/* Of a call without it, or an errno as the status of a child. */
static const char *word_of_raw(long value)
{
    return value < 0 ? strerrorname_np((int)-value) : "done";
}

static const char *word_of_status(int status)
{
    static char word[32];
    if (WIFEXITED(status))
        return word_of_raw(-WEXITSTATUS(status));
    snprintf(word, sizeof(word), "SIG%s", sigabbrev_np(WTERMSIG(status)));
    return word;
}

static const char *word_of_child(pid_t pid)
{
    int status;
    return waitpid(pid, &status, __WALL) == pid ? word_of_status(status) : strerrorname_np(errno);
}

/* A child that does this and ends with an errno, or by a signal. */
static const char *in_child(void (*action)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        action();
        _exit(0);
    }
    return word_of_child(pid);
}

/* One call in a child with these flags, whoever its parent is. */
static struct {
    long number, argument;
    int answer_fd;
} odd;

static int make_odd_call(void *unused)
{
    long value = syscall(odd.number, odd.argument);
    const char *word = word_of(value);
    write(odd.answer_fd, word, strlen(word));
    syscall(SYS_exit, 0);
    return 0;
}

static const char *in_odd_child(unsigned long flags, long number, long argument)
{
    static char stack[STACK_SIZE] __attribute__((aligned(16)));
    static char word[32];
    int ends[2];
    pipe(ends);
    odd.number = number;
    odd.argument = argument;
    odd.answer_fd = ends[1];
    if (clone(make_odd_call, stack + STACK_SIZE, (int)flags, NULL) < 0)
        return strerrorname_np(errno);
    close(ends[1]);
    read(ends[0], word, sizeof(word) - 1);
    return word;
}

/* A process beside this one, with the same parent; it ends with the run. */
static int wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return 0;
}

static pid_t make_sibling(void)
{
    static char stack[STACK_SIZE] __attribute__((aligned(16)));
    return clone(wait_for_ever, stack + STACK_SIZE, CLONE_PARENT | SIGCHLD, NULL);
}

/* A child by clone3(2), of that number. */
struct clone_request {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid;
    uint64_t set_tid_size, cgroup;
};

static const char *clone3_child(long number, uint64_t flags, const pid_t *chosen)
{
    struct clone_request request = {.flags = flags, .exit_signal = SIGCHLD};
    if (chosen != NULL) {
        request.set_tid = (uint64_t)(uintptr_t)chosen;
        request.set_tid_size = 1;
    }
    long pid = syscall(number, &request, sizeof(request));
    if (pid == 0)
        _exit(0);
    return pid < 0 ? strerrorname_np(errno) : word_of_child((pid_t)pid);
}

/* This program once more, from a file without a name, for one call. */
static const char *without_name(long number, long argument)
{
    char words[2][32], path[32];
    struct stat about;
    int from = open("/proc/self/exe", O_RDONLY);
    int to = open("/work", O_TMPFILE | O_RDWR, 0700);
    if (from < 0 || to < 0 || fstat(from, &about) < 0 ||
        sendfile(to, from, NULL, (size_t)about.st_size) != about.st_size)
        return "nothing to run";
    snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
    int program = open(path, O_RDONLY);
    close(to);
    snprintf(words[0], sizeof(words[0]), "%ld", number);
    snprintf(words[1], sizeof(words[1]), "%ld", argument);
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {"program", words[0], words[1], NULL};
        execveat(program, "", argv, environ, AT_EMPTY_PATH);
        _exit(errno);
    }
    return word_of_child(pid);
}

/* A descriptor of a directory or file, sent from this process to itself. */
static int sent_to_itself(int fd)
{
    int ends[2];
    char byte = 0;
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control};
    message.msg_controllen = sizeof(control.space);
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || sendmsg(ends[0], &message, 0) != 1 ||
        recvmsg(ends[1], &message, 0) != 1)
        return -1;
    memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    return fd;
}

/* Whether a file of the host is there, by a way to its root. */
static const char *look_out(int directory_fd, const char *way)
{
    char path[PATH_MAX];
    struct stat about;
    snprintf(path, sizeof(path), "%s%s", way, host("file"));
    return word_of(fstatat(directory_fd, path, &about, 0));
}

/* The slave of a terminal of its own, which controls it. */
static int own_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return -1;
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    setsid(); /* unless it leads a session already */
    return ioctl(slave, TIOCSCTTY, 0) < 0 ? -1 : slave;
}

/* One request by a ring: its result, or -1. */
static long by_ring(long setup, long enter, const struct io_uring_sqe *request)
{
    struct io_uring_params params = {0};
    int fd = (int)syscall(setup, 1, &params);
    if (fd < 0)
        return -errno;
    const int access = PROT_READ | PROT_WRITE;
    char *submissions = mmap(NULL, PAGE, access, MAP_SHARED, fd, IORING_OFF_SQ_RING);
    char *completions = mmap(NULL, PAGE, access, MAP_SHARED, fd, IORING_OFF_CQ_RING);
    struct io_uring_sqe *entries = mmap(NULL, PAGE, access, MAP_SHARED, fd, IORING_OFF_SQES);
    if (submissions == MAP_FAILED || completions == MAP_FAILED || entries == MAP_FAILED)
        return -errno;
    entries[0] = *request;
    *(unsigned int *)(submissions + params.sq_off.array) = 0;
    *(unsigned int *)(submissions + params.sq_off.tail) = 1;
    if (syscall(enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
        return -errno;
    return ((struct io_uring_cqe *)(completions + params.cq_off.cqes))->res;
}

#ifdef __x86_64__
#define CODE_64 0x33
#define CODE_32 0x23
#define DATA 0x2b

static long call_by_int80(long number, long first, long second, long third)
{
    long value;
    __asm__ volatile("int $0x80"
                     : "=a"(value)
                     : "a"(number), "b"(first), "c"(second), "d"(third)
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)value;
}

/* Memory whose addresses 32 bits hold. */
static void *low_memory(void)
{
    return mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
}

/* 32-bit code that makes a user namespace and ends with the errno. */
static const unsigned char code_32[] = {
    0xb8, 0x36, 0x01, 0x00, 0x00, /* mov $310, %eax: unshare */
    0xbb, 0x00, 0x00, 0x00, 0x10, /* mov $CLONE_NEWUSER, %ebx */
    0xcd, 0x80, /* int $0x80 */
    0x89, 0xc3, 0xf7, 0xdb, /* mov %eax, %ebx; neg %ebx */
    0xb8, 0x01, 0x00, 0x00, 0x00, 0xcd, 0x80, /* mov $1, %eax; int $0x80: exit */
};

static void *low_code(void)
{
    return memcpy(low_memory(), code_32, sizeof(code_32));
}

/* Makes the call that the registers hold, and ends with the errno. */
__asm__(".text\n"
        "forged_call:\n"
        "    syscall\n"
        "    movl %eax, %edi\n"
        "    negl %edi\n"
        "    movl $231, %eax\n"
        "    syscall\n");
extern const char forged_call[] __attribute__((visibility("hidden")));

/* Returns from a signal that never came, into this code with these registers. */
static void return_forged(unsigned long code, const void *at, long number, long argument)
{
    static ucontext_t frame __attribute__((aligned(16)));
    greg_t *registers = frame.uc_mcontext.gregs;
    frame.uc_flags = 6; /* UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
    registers[REG_RIP] = (greg_t)(uintptr_t)at;
    registers[REG_RAX] = number;
    registers[REG_RDI] = argument;
    registers[REG_RSP] = (greg_t)(uintptr_t)(empty + STACK_SIZE / 2);
    registers[REG_EFL] = 0x202;
    registers[REG_CSGSFS] = (greg_t)(code | (unsigned long)DATA << 48);
    __asm__ volatile("movq %0, %%rsp\n movl $15, %%eax\n syscall" ::"r"(&frame) : "memory");
}
#endif

static bool take_known(char *line)
{
    static size_t count;
    char *value = strchr(line, '=');
    if (value == NULL || count == KNOWN_MAX)
        return false;
    *value = 0;
    snprintf(known[count].name, sizeof(known[count].name), "%s", line);
    snprintf(known[count].value, sizeof(known[count].value), "%s", value + 1);
    count++;
    return true;
}

int main(int argc, char **argv)
{
    char label[64] = "", line[512];
    if (argc == 3)
        return syscall(atol(argv[1]), atol(argv[2])) == -1 ? errno : 0;
    if (scanf("%63s %511s\n", label, line) != 2)
        return 2;
    twin = strcmp(line, "twin") == 0;
    while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
        line[strcspn(line, "\n")] = 0;
        if (!take_known(line))
            return 2;
    }
    for (const struct attempt *it = attempts; it->label != NULL; it++)
        if (strcmp(it->label, label) == 0)
            return puts(it->make()) < 0;
    return 2;
}
