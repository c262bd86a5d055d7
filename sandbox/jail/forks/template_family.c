#include "sandbox/jail/forks/template_family.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GENERATIONS 3 /* template.py: the program, what has loaded the modules, the template */
#define STAT_SIZE 512
#define CHILDREN_SIZE 16384 /* more than there may be forks */
#define HELPER_LOOKS 1000
#define HELPER_LOOK_NS 50000

struct process_state {
    char letter;
    unsigned long threads;
};

/* proc_pid_stat(5). False: it has gone. */
static bool read_state(pid_t pid, struct process_state *ret_state)
{
    char path[32];
    char text[STAT_SIZE];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    text_file_read(AT_FDCWD, path, text, sizeof(text));
    const char *name_end = strrchr(text, ')'); /* the name may contain anything. Fields 3 and 20. */
    return name_end != NULL &&
           sscanf(name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu",
                  &ret_state->letter, &ret_state->threads) == 2;
}

/* A child that is alive, and not among the known ones. */
struct stranger {
    const pid_t *known;
    size_t count;
    pid_t pid; /* 0: there is none */
    struct process_state state;
};

static bool is_known(const struct stranger *stranger, pid_t child)
{
    size_t i = 0;
    while (i < stranger->count && stranger->known[i] != child)
        i++;
    return i < stranger->count;
}

/* 0; -EEXIST: there is another one already. */
static int note_child(struct stranger *stranger, pid_t child)
{
    struct process_state state;
    /* Without threads, it can do nothing any more. */
    if (is_known(stranger, child) || !read_state(child, &state) ||
        ((state.letter == 'Z' || state.letter == 'X') && state.threads <= 1))
        return 0;
    if (stranger->pid != 0)
        return -EEXIST;
    stranger->pid = child;
    stranger->state = state;
    return 0;
}

/* What a file has, as a list of numbers: 0 or a negative errno. */
static int read_children(pid_t pid, const char *thread, char text[CHILDREN_SIZE])
{
    char path[64];
    size_t length = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid, thread);
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? -ESRCH : -errno;
    for (;;) {
        ssize_t got = read(fd, text + length, CHILDREN_SIZE - 1 - length);
        if (got < 0)
            return -errno;
        length += (size_t)got;
        text[length] = '\0';
        if (got == 0)
            return length < CHILDREN_SIZE - 1 ? 0 : -E2BIG;
    }
}

static int note_children(pid_t pid, const char *thread, struct stranger *stranger)
{
    char text[CHILDREN_SIZE];
    char *end = text;
    int r = read_children(pid, thread, text);
    for (const char *at = text; r == 0 && *at != '\0'; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at) /* the last space */
            break;
        r = note_child(stranger, (pid_t)child);
    }
    return r;
}

/* Whichever of its threads has made it. 0 or a negative errno. */
static int find_stranger(pid_t pid, unsigned long threads, struct stranger *stranger)
{
    char path[32];
    stranger->pid = 0;
    if (threads == 1) {
        snprintf(path, sizeof(path), "%d", (int)pid);
        return note_children(pid, path, stranger);
    }
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    OWNED(directory_release) DIR *directory = directory_open(AT_FDCWD, path);
    int r = directory == NULL ? -errno : 0;
    for (const char *thread; r == 0 && (thread = directory_next_number(directory)) != NULL;)
        r = note_children(pid, thread, stranger);
    return r;
}

/*
 * The template makes a fork by a process that shares its memory, and waits for that: vfork(2). It is in `D` then, and
 * at no other time has it a child.
 */
static bool has_only_helper(pid_t template)
{
    for (int i = 0; i < HELPER_LOOKS; i++) {
        struct process_state state;
        struct stranger helper = {.count = 0};
        if (find_stranger(template, 1, &helper) < 0 || !read_state(template, &state) ||
            state.threads != 1)
            return false;
        if (helper.pid == 0 || state.letter == 'D')
            return true;
        /* It has not begun to wait yet, or the helper has ended meanwhile. */
        nanosleep(&(struct timespec){.tv_nsec = HELPER_LOOK_NS}, NULL);
    }
    return false;
}

bool template_family_is_known(pid_t init, const pid_t *forks, size_t count)
{
    pid_t pid = init;
    unsigned long threads = 1; /* of init, which is ours */
    for (int i = 0; i < GENERATIONS; i++) {
        struct stranger child = {.known = forks, .count = i == 0 ? count : 0};
        if (find_stranger(pid, threads, &child) < 0 || child.pid == 0)
            return false;
        pid = child.pid;
        threads = child.state.threads;
        /* Libraries that the second has loaded may have threads, which its child does not. */
        if (i != 1 && threads != 1)
            return false;
    }
    return has_only_helper(pid);
}
