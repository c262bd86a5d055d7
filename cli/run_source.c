#include "cli/run_source.h"

#include "interpreter/settings/own_paths.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool has_extension(const char *path, const char *const *extensions)
{
    size_t path_length = strlen(path);
    for (; extensions != NULL && *extensions != NULL; extensions++) {
        size_t length = strlen(*extensions);
        if (path_length > length && strcmp(path + path_length - length, *extensions) == 0)
            return true;
    }
    return false;
}

const struct language *run_source_language(const char *path)
{
    for (size_t i = 0; i < language_count; i++)
        if (has_extension(path, languages[i]->extensions))
            return languages[i];
    return NULL;
}

const struct language *run_source_interpreter(const struct buffer *code)
{
    char line[128] = "";
    const char *end = code->length > 2 ? memchr(code->data, '\n', code->length) : NULL;
    size_t length = end != NULL ? (size_t)(end - code->data) : code->length;
    if (code->length < 2 || memcmp(code->data, "#!", 2) != 0 || length - 2 >= sizeof(line))
        return NULL;
    memcpy(line, code->data + 2, length - 2);
    char *rest = line;
    for (char *word; (word = strsep(&rest, " \t\r")) != NULL;) {
        char *slash = strrchr(word, '/');
        char *name = slash != NULL ? slash + 1 : word;
        if (name[0] == '\0' || name[0] == '-' || strcmp(name, "env") == 0)
            continue;
        name[strcspn(name, "0123456789.")] = '\0';
        return language_find(name);
    }
    return NULL;
}

static int read_all(int fd, struct buffer *code)
{
    for (;;) {
        int r = buffer_reserve(code, RUN_SOURCE_PIECE);
        if (r < 0)
            return r;
        ssize_t count = read(fd, code->data + code->length, RUN_SOURCE_PIECE);
        if (count == 0)
            return code->length > CODE_MAX ? -ENOBUFS : 0;
        if (count < 0 && errno != EINTR)
            return -errno;
        code->length += count > 0 ? (size_t)count : 0;
    }
}

int run_source_set_language(void *data, const struct option *option, const char *value,
                            struct fault *fault)
{
    char names[LANGUAGE_NAMES_SIZE];
    const struct language **language = (const struct language **)((char *)data + option->offset);
    *language = language_find(value);
    return *language != NULL ? 0
                             : fault_set(fault, EINVAL, "%s must be %s, not \"%.40s\"",
                                         option->name, language_names(names), value);
}

int run_source_read(const struct settings *settings, const char *path, struct buffer *code,
                    struct fault *fault)
{
    bool is_stdin = strcmp(path, "-") == 0;
    OWNED_FD int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (!is_stdin && opened < 0)
        return fault_set(fault, errno, "opening %s: %m", path);
    int r =
        opened >= 0 && settings != NULL ? own_paths_check_opened(settings, path, opened, fault) : 0;
    if (r < 0)
        return r;
    r = read_all(is_stdin ? STDIN_FILENO : opened, code);
    if (r == -ENOBUFS)
        return fault_set(fault, EFBIG, "%s is longer than %llu MiB, the maximum for code",
                         is_stdin ? "the code on stdin" : path,
                         (unsigned long long)(CODE_MAX / MEBIBYTE));
    if (r < 0)
        return fault_set(fault, -r, "reading %s: %m", is_stdin ? "the code from stdin" : path);
    return 0;
}

/*
 * The program's stdin is ours, unless the code came from it. /dev/null is not worth a pipe: that is
 * what a program without stdin reads.
 */
int run_source_stdin(const char *path, struct run_stdin *ret_stdin, struct fault *fault)
{
    struct stat about;
    if (strcmp(path, "-") == 0)
        return 0;
    if (fstat(STDIN_FILENO, &about) < 0)
        return fault_set(fault, errno, "cannot look at stdin: %m");
    if (S_ISDIR(about.st_mode))
        return fault_set(fault, EISDIR, "stdin is a directory, which no program can read");
    if (!S_ISCHR(about.st_mode) || about.st_rdev != makedev(1, 3))
        *ret_stdin = (struct run_stdin){.kind = STDIN_DESCRIPTOR, .fd = STDIN_FILENO};
    return 0;
}

/* A terminal has no end until somebody types it. */
int run_source_read_stdin(struct run_stdin *source, struct buffer *bytes, struct fault *fault)
{
    if (source->kind != STDIN_DESCRIPTOR)
        return 0;
    bool is_terminal = isatty(source->fd) == 1;
    int r = is_terminal ? 0 : read_all(source->fd, bytes);
    if (r == -ENOBUFS)
        return fault_set(fault, EFBIG, "stdin is longer than %llu MiB, the most that workers get",
                         (unsigned long long)(STDIN_MAX / MEBIBYTE));
    if (r < 0)
        return fault_set(fault, -r, "reading stdin: %m");
    *source = (struct run_stdin){.kind = is_terminal ? STDIN_EMPTY : STDIN_BYTES,
                                 .bytes = bytes->data,
                                 .length = bytes->length};
    return 0;
}
