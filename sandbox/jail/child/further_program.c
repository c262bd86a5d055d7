#include "sandbox/jail/child/further_program.h"

#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_NOT_STARTED 127
#define WORDS_MAX (JAIL_SCRATCH_SIZE / sizeof(char *))

/* One that is about to start; its process shares this with init. */
struct start {
    struct jail *jail;
    const struct program_text *text;
    const struct further_program *from;
    int error; /* positive errno */
};

static bool has_slash(const char *name)
{
    for (; *name != '\0'; name++)
        if (*name == '/')
            return true;
    return false;
}

/* The one may be a name without a value. */
static bool have_same_name(const char *one, const char *other)
{
    while (*one == *other && *one != '=' && *one != '\0')
        one++, other++;
    return (*one == '=' || *one == '\0') && *other == '=';
}

static bool has_name_of(char *const *list, const char *variable)
{
    for (; *list != NULL; list++)
        if (have_same_name(*list, variable))
            return true;
    return false;
}

/* Adds variables that are not there, in this room. 0 or -E2BIG. */
static int add_variables(char **list, size_t room, char *const *inherited)
{
    size_t count = 0;
    while (list[count] != NULL)
        count++;
    for (; *inherited != NULL; inherited++) {
        if (has_name_of(list, *inherited))
            continue;
        if (count + 1 >= room)
            return -E2BIG;
        list[count++] = *inherited;
        list[count] = NULL;
    }
    return 0;
}

static void drop_names_alone(char **list)
{
    char **kept = list;
    for (; *list != NULL; list++) {
        const char *end = *list;
        while (*end != '=' && *end != '\0')
            end++;
        if (*end == '=')
            *kept++ = *list;
    }
    *kept = NULL;
}

/* Their PATH; "": they have none. */
static const char *path_of(char *const *environment)
{
    for (; *environment != NULL; environment++) {
        const char *text = *environment;
        if (text[0] == 'P' && text[1] == 'A' && text[2] == 'T' && text[3] == 'H' && text[4] == '=')
            return text + 5;
    }
    return "";
}

/*
 * As execvp(3) searches, but an empty part of the path is no directory; `tells`: argv[0] becomes the place where it was
 * found. Returns only on failure.
 */
static int search(const char *path, char **argv, char *const *environment, bool tells)
{
    static char place[PATH_MAX];
    const char *name = argv[0];
    size_t name_size = strlen(name) + 1;
    int r = -ENOENT;
    for (const char *part = path; *part != '\0';) {
        size_t length = 0;
        while (part[length] != ':' && part[length] != '\0')
            length++;
        if (length > 0 && length + 1 + name_size <= sizeof(place)) {
            memcpy(place, part, length);
            place[length] = '/';
            memcpy(place + length + 1, name, name_size);
            argv[0] = tells ? place : argv[0];
            execve(place, argv, environment);
            if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
                return -errno;
            r = errno == EACCES ? -EACCES : r;
        }
        part += part[length] == ':' ? length + 1 : length;
    }
    return r;
}

/*
 * Moves those up that would be overwritten before they are connected: the kernel has numbered what came with a word. They
 * are closed with the process.
 */
static int take_streams(const struct further_program *from, int fds[static PROGRAM_FD_MAX + 1])
{
    for (size_t i = 0; i < from->count; i++) {
        int fd = from->streams[i];
        fds[i] = fd < 0 || fd >= (int)i ? fd : fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FD_MAX + 1);
        if (fds[i] < 0 && fd >= 0)
            return -errno;
    }
    return 0;
}

static int become_program(const struct start *start)
{
    char **words =
        (char **)(void *)jail_scratch; /* private memory RLIMIT_DATA might refuse to init */
    const struct program_text *text = start->text;
    int fds[PROGRAM_FD_MAX + 1];
    if (text->word_count > WORDS_MAX)
        return -E2BIG;
    for (size_t i = 0; i < text->word_count; i++)
        words[i] = text->words[i] != 0 ? (char *)text + text->words[i] : NULL;
    char **argv = &words[2];
    if (argv[0] == NULL)
        return -EINVAL;
    char **environment = argv;
    while (*environment++ != NULL)
        ;
    int r = take_streams(start->from, fds);
    if (r == 0)
        r = init_prepare_program(start->jail, words[0], fds, start->from->count);
    if (r < 0)
        return r;
    jail_note(start->jail, STEP_EXECUTE, -1);
    if (!text->is_whole)
        r = add_variables(environment, (size_t)(words + WORDS_MAX - environment),
                          start->jail->plan->environment);
    if (r < 0)
        return r;
    drop_names_alone(environment);
    if (!has_slash(argv[0]))
        return search(words[1] != NULL ? words[1] : path_of(environment), argv, environment,
                      words[1] != NULL);
    execve(argv[0], argv, environment);
    return -errno;
}

STACK_OF_ITS_OWN static int program_main(void *data)
{
    struct start *start = data;
    start->error = -become_program(start);
    _exit(EXIT_NOT_STARTED);
}

int further_program_map(int fd, void **ret_text, size_t *ret_size)
{
    struct stat memory;
    if (fstat(fd, &memory) < 0)
        return -errno;
    *ret_size = (size_t)memory.st_size;
    *ret_text = mmap(NULL, *ret_size, PROT_READ, MAP_SHARED, fd, 0); /* the parent has sealed it */
    return *ret_text == MAP_FAILED ? -errno : 0;
}

int further_program_start(struct jail *jail, const struct further_program *from)
{
    struct start start = {.jail = jail, .from = from};
    void *text = NULL;
    size_t size = 0;
    int r = further_program_map(from->text_fd, &text, &size);
    if (r < 0)
        return r;
    start.text = text;
    pid_t pid = init_clone(program_main, &start, CLONE_FOR_EXECVE);
    munmap(text, size);
    return pid < 0 || start.error == 0 ? pid : -start.error;
}
