/*
 * All programs of test-command.c, test-session-file.c and test-session-lanes.c, in a root file system without anything
 * else: linked statically. The first argument
 * says what to do; a cell is the same words as text.
 */
#include "sandbox/session_link.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 16
#define CODE_SIZE 256

static void rest(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) < 0)
        ;
}

static int print(char **words)
{
    printf("%s\n", words[1]);
    return fflush(stdout);
}

static int copy(char **words)
{
    (void)words;
    char bytes[4096];
    for (ssize_t length; (length = read(0, bytes, sizeof(bytes))) > 0;)
        if (write(1, bytes, (size_t)length) != length)
            return 1;
    return 0;
}

/* Says when it runs. */
static int stay(char **words)
{
    (void)words;
    puts("ready");
    fflush(stdout);
    rest(60000);
    return 0;
}

static int wait_for(char **words)
{
    rest(atol(words[1]));
    return 0;
}

static void wake(int signal_number)
{
    (void)signal_number;
}

/* Ends at an interrupt, and its program goes on. */
static int nap(char **words)
{
    const struct sigaction own = {.sa_handler = wake};
    struct sigaction before;
    const struct timespec time = {.tv_sec = atol(words[1])};
    sigaction(SIGINT, &own, &before);
    nanosleep(&time, NULL);
    return sigaction(SIGINT, &before, NULL);
}

static int put(char **words)
{
    FILE *file = fopen(words[1], "we");
    if (file == NULL)
        return 1;
    fputs(words[2], file);
    return fclose(file);
}

/* As the runner of another lane would: how many of its descriptors take that. */
static int forge(char **words)
{
    const struct frame done = {.kind = FRAME_DONE, .cell = (uint32_t)atoi(words[1])};
    int taken = 0;
    for (int fd = 3; fd < 256; fd++)
        taken += write(fd, &done, sizeof(done)) > 0;
    printf("%d\n", taken);
    return fflush(stdout);
}

static int flood(char **words)
{
    static char bytes[65536];
    memset(bytes, 'x', sizeof(bytes));
    for (long left = atol(words[1]); left > 0;) {
        ssize_t written = write(1, bytes, sizeof(bytes));
        left -= written > 0 ? written : left;
    }
    return 0;
}

static int refuse_interrupts(char **words)
{
    signal(SIGINT, SIG_IGN);
    return stay(words);
}

/* The child minds no interrupt, and holds the pipes. */
static int leave_child(char **words)
{
    if (fork() == 0)
        return refuse_interrupts(words);
    rest(60000);
    return 0;
}

/* Adds a byte to the file again and again. */
static int tick(char **words)
{
    int fd = open(words[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    while (fd >= 0 && write(fd, ".", 1) == 1)
        rest(5);
    return 1;
}

static int tick_as_daemon(char **words)
{
    if (fork() != 0)
        return 0;
    setsid();
    return tick(words);
}

static int tick_behind(char **words)
{
    return fork() != 0 ? 0 : tick(words);
}

static int tell_size(char **words)
{
    struct stat file = {0};
    stat(words[1], &file);
    printf("%lld\n", (long long)file.st_size);
    return fflush(stdout);
}

static int close_all(char **words)
{
    (void)words;
    syscall(SYS_close_range, 0U, ~0U, 0U);
    rest(300);
    return 3;
}

static int tell_place(char **words)
{
    char path[512];
    const char *value = getenv("VALUE");
    const char *home = getenv("HOME");
    printf("%s %s %s %d\n", getcwd(path, sizeof(path)), value != NULL ? value : "-",
           home != NULL ? home : "-", getpgrp() == getpid());
    (void)words;
    return fflush(stdout);
}

static int end_by_signal(char **words)
{
    return raise(atoi(words[1]));
}

static int spin(char **words)
{
    (void)words;
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
        ;
    return 0;
}

static int make_link(char **words)
{
    return symlink(words[1], words[2]);
}

static int make_fifo(char **words)
{
    return mkfifo(words[1], 0666);
}

static int make_socket(char **words)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, words[1], sizeof(address.sun_path) - 1);
    return bind(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&address,
                sizeof(address));
}

static int change_mode(char **words)
{
    return chmod(words[2], (mode_t)strtoul(words[1], NULL, 8));
}

/* So many files with short names in the current directory. */
static int make_many(char **words)
{
    char name[32];
    for (int i = 0; i < atoi(words[1]); i++) {
        snprintf(name, sizeof(name), "%d", i);
        close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    }
    return 0;
}

/* A tree so deep, made of directories "d" with a file "f" each; the current directory is the top. */
static int make_deep(char **words)
{
    for (int i = 0; i < atoi(words[1]); i++) {
        close(open("f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        if (mkdir("d", 0755) < 0 || chdir("d") < 0)
            return 1;
    }
    return 0;
}

/* As many processes as there may be, for so many milliseconds. */
static int crowd(char **words)
{
    pid_t pid = 1;
    while (pid > 0)
        pid = fork();
    if (pid < 0) {
        puts("ready");
        fflush(stdout);
    }
    rest(atol(words[1]));
    return 0;
}

/* For so many milliseconds, sends a signal to all others, again and again. */
static int hunt(char **words)
{
    for (int i = 0; i < atoi(words[2]) * 20; i++) {
        kill(-1, atoi(words[1]));
        usleep(50);
    }
    return 0;
}

/* Exchanges a file, a link to it, a FIFO and /proc/self/mem by one name, for so many milliseconds. */
static int exchange(char **words)
{
    static const char *const targets[] = {
        "good", "fifo", "/proc/self/mem", "/proc/self/environ", "/dev/zero", "/proc/self/exe"};
    for (int i = 0; i < atoi(words[2]) * 20; i++) {
        const char *target = targets[i % (int)(sizeof(targets) / sizeof(targets[0]))];
        int r = i % 2 == 0 ? link(target, "aside") : symlink(target, "aside");
        if (r == 0)
            rename("aside", words[1]);
        usleep(50);
    }
    return 0;
}

/* For so many milliseconds, makes a tree "t" and moves a part of it to "kept" and back. */
static int shuffle(char **words)
{
    char name[32];
    for (int i = 0; i < atoi(words[1]); i++) {
        mkdir("t", 0755);
        mkdir("t/a", 0755);
        mkdir("t/a/b", 0755);
        for (int j = 0; j < 200; j++) {
            snprintf(name, sizeof(name), "t/a/b/%d", j);
            close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        }
        for (int j = 0; j < 10; j++) {
            if (rename("t/a/b", "kept/b") == 0)
                usleep(50);
            rename("kept/b", "t/a/b");
        }
        rename("t/a/b", "kept/b");
        usleep(100);
        rename("kept/b", "kept/c");
        rename("kept/c", "t/a/b");
    }
    return 0;
}

/*
 * For so many milliseconds, what the other processes of init show of themselves to this one: their memory, descriptors,
 * and directories. Prints each.
 */
static int pry(char **words)
{
    static const char *const parts[] = {"environ", "maps", "auxv", "fd/0", "fd/1", "cwd", "root"};
    char path[64], text[64];
    for (int i = 0; i < atoi(words[1]) * 2; i++) {
        for (int pid = getpid() + 1; pid < getpid() + 400; pid++) {
            for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
                snprintf(path, sizeof(path), "/proc/%d/%s", pid, parts[part]);
                int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
                if (fd < 0)
                    continue;
                /* One that has ended has files without content. */
                if (part > 2 || read(fd, text, sizeof(text)) > 0)
                    puts(path);
                close(fd);
            }
        }
        usleep(100);
    }
    return fflush(stdout);
}

/* As one that wants to harm init: stops all that it can. */
static int stop_all(char **words)
{
    (void)words;
    for (int i = 0; i < 50; i++) {
        kill(-1, SIGSTOP);
        kill(1, SIGKILL);
        rest(1);
    }
    kill(-1, SIGCONT);
    return 0;
}

static const struct {
    const char *name;
    int (*act)(char **words);
} acts[] = {
    {"print", print},
    {"copy", copy},
    {"stay", stay},
    {"wait", wait_for},
    {"nap", nap},
    {"put", put},
    {"forge", forge},
    {"flood", flood},
    {"stubborn", refuse_interrupts},
    {"parent", leave_child},
    {"tick", tick},
    {"daemon", tick_as_daemon},
    {"size", tell_size},
    {"close", close_all},
    {"where", tell_place},
    {"raise", end_by_signal},
    {"behind", tick_behind},
    {"spin", spin},
    {"stop", stop_all},
    {"link", make_link},
    {"fifo", make_fifo},
    {"socket", make_socket},
    {"chmod", change_mode},
    {"many", make_many},
    {"deep", make_deep},
    {"crowd", crowd},
    {"hunt", hunt},
    {"exchange", exchange},
    {"pry", pry},
    {"shuffle", shuffle},
};

static int act(char **words)
{
    for (size_t i = 0; words[0] != NULL && i < sizeof(acts) / sizeof(acts[0]); i++)
        if (strcmp(words[0], acts[i].name) == 0)
            return acts[i].act(words);
    return words[0] != NULL && strcmp(words[0], "exit") == 0 ? atoi(words[1]) : 99;
}

static int act_on(char *text)
{
    char *words[WORDS_MAX + 1] = {NULL};
    size_t count = 0;
    for (char *word = strtok(text, " "); word != NULL && count < WORDS_MAX;
         word = strtok(NULL, " "))
        words[count++] = word;
    return act(words);
}

static int run_file(const char *path)
{
    char code[CODE_SIZE] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 || read(fd, code, sizeof(code) - 1) < 0 ? 98 : act_on(code);
}

/* The program of a session of one: cell after cell; "exit" ends it. */
static int serve(void)
{
    struct frame frame = {.kind = FRAME_READY};
    if (write(SESSION_ANSWERS_FD, &frame, sizeof(frame)) < 0)
        return 97;
    while (recv(SESSION_CHANNEL_FD, &frame, sizeof(frame), 0) == (ssize_t)sizeof(frame)) {
        char code[CODE_SIZE] = {0};
        if (frame.kind != FRAME_RUN ||
            pread(SESSION_CELLS_FD, code, frame.a < CODE_SIZE ? frame.a : CODE_SIZE - 1, 16) < 0)
            continue;
        if (strncmp(code, "exit ", 5) == 0)
            return atoi(code + 5);
        act_on(code);
        const struct frame done = {.kind = FRAME_DONE, .cell = frame.cell};
        if (write(SESSION_ANSWERS_FD, &done, sizeof(done)) < 0)
            return 97;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    if (argc == 3 && strcmp(argv[1], "file") == 0)
        return run_file(argv[2]);
    return act(argv + 1);
}
