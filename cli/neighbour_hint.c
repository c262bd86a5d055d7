#include "cli/neighbour_hint.h"

#include "interpreter/languages/language.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/run_paths.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/folders/host_fence.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WINDOW_SIZE 4096 /* bytes of the end of stderr that are read */
#define LINES_MAX 24
#define NAME_SIZE 256

static const char *const only_itself[] = {"", NULL};

#define SHELL_MISS ": No such file or directory"

/* The end of stderr, as a string. */
static void copy_end(const struct run_result *result, char window[WINDOW_SIZE + 1])
{
    const struct capture *err = result->is_joined ? &result->out : &result->err;
    const struct buffer *last = err->tail.length > 0 ? &err->tail : &err->head;
    size_t length = last->length < WINDOW_SIZE ? last->length : WINDOW_SIZE;
    if (length > 0)
        memcpy(window, last->data + last->length - length, length);
    window[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        if (window[i] == '\0')
            window[i] = ' ';
    }
}

/* As the program named it, seen from its own directory. False: it is no path below that. */
static bool take_name(const char *begin, size_t length, char name[NAME_SIZE])
{
    static const char work[] = RUN_WORK "/";
    if (length > sizeof(work) - 1 && strncmp(begin, work, sizeof(work) - 1) == 0) {
        begin += sizeof(work) - 1;
        length -= sizeof(work) - 1;
    }
    while (length > 2 && strncmp(begin, "./", 2) == 0) {
        begin += 2;
        length -= 2;
    }
    if (length == 0 || length >= NAME_SIZE || begin[0] == '/')
        return false;
    memcpy(name, begin, length);
    name[length] = '\0';
    return strstr(name, "..") == NULL && strchr(name, '\n') == NULL;
}

struct missed {
    enum miss_kind kind;
    char name[NAME_SIZE];
    const char *const *endings;
};

static bool read_quoted(const char *line, const struct language_miss *miss, struct missed *missed)
{
    const char *found = strstr(line, miss->before);
    if (found == NULL)
        return false;
    found += strlen(miss->before);
    /* "..., open 'data.csv'" */
    if (found[-1] == ' ' && (found = strchr(found, '\'')) == NULL)
        return false;
    found += *found == '\'';
    if (!take_name(found, strcspn(found, "'"), missed->name))
        return false;
    for (char *at = missed->name; miss->kind == MISS_MODULE && *at != '\0'; at++) {
        if (*at == '.')
            *at = '/';
    }
    missed->kind = miss->kind;
    missed->endings = miss->endings;
    return true;
}

/* In the words of any language: a program may start another. */
static bool read_languages(const char *line, struct missed *missed)
{
    for (size_t i = 0; i < language_count; i++)
        for (const struct language_miss *miss = languages[i]->misses;
             miss != NULL && miss->before != NULL; miss++)
            if (read_quoted(line, miss, missed))
                return true;
    return false;
}

/* "cat: data.csv: No such file or directory" */
static bool read_shell(const char *line, struct missed *missed)
{
    const char *end = strstr(line, SHELL_MISS);
    if (end == NULL || end[strlen(SHELL_MISS)] != '\0')
        return false;
    const char *begin = end;
    while (begin > line && !(begin[-1] == ' ' && begin > line + 1 && begin[-2] == ':'))
        begin--;
    missed->kind = MISS_FILE;
    missed->endings = only_itself;
    return take_name(begin, (size_t)(end - begin), missed->name);
}

/* Whether it is there, under one of its names; then that, below the folder. */
static bool find_below(const char *folder, const struct missed *missed, char path[PATH_MAX],
                       struct stat *ret_about)
{
    for (const char *const *ending = missed->endings; *ending != NULL; ending++) {
        int length = snprintf(path, PATH_MAX, "%s/%s%s", folder, missed->name, *ending);
        bool is_kind = length < PATH_MAX && stat(path, ret_about) == 0 &&
                       (S_ISREG(ret_about->st_mode) || S_ISDIR(ret_about->st_mode));
        if (is_kind)
            return true;
    }
    return false;
}

static bool may_be_shown(const char *folder, const struct neighbour_place *place)
{
    struct host_fence ignored;
    OWNED_MEMORY char *real = realpath(folder, NULL);
    return place->may_mount && real != NULL && !host_fence_stops(real, place->home, &ignored);
}

static int write_found(const char *folder, const char *where, const char *path, bool is_file,
                       const struct neighbour_place *place, struct buffer *text)
{
    const char *name = path + strlen(folder) + 1;
    if (may_be_shown(folder, place))
        return buffer_format(text, "%s lies %s: --workdir %s makes it readable.\n",
                             visible_name(name).text, where, visible_name(folder).text);
    bool is_path = strchr(name, '/') != NULL;
    return !is_file ? 0
                    : buffer_format(text, "%s lies %s: --file %s%s%s makes it readable.\n",
                                    visible_name(name).text, where,
                                    is_path ? visible_name(name).text : "", is_path ? "=" : "",
                                    visible_name(path).text);
}

/* The folder of the script, as the user named it; owned by the caller. */
static char *folder_of(const char *script)
{
    const char *slash = strrchr(script, '/');
    if (slash == NULL)
        return strdup(".");
    return slash == script ? strdup("/") : strndup(script, (size_t)(slash - script));
}

static int write_missed(const struct missed *missed, const struct neighbour_place *place,
                        struct buffer *text)
{
    char path[PATH_MAX];
    struct stat about;
    OWNED_MEMORY char *folder = place->script != NULL ? folder_of(place->script) : NULL;
    if (folder != NULL && find_below(folder, missed, path, &about))
        return write_found(folder, "beside the script", path, S_ISREG(about.st_mode), place, text);
    bool is_looked_for =
        missed->kind == MISS_FILE || (missed->kind == MISS_MODULE && folder == NULL);
    if (is_looked_for && find_below(".", missed, path, &about))
        return write_found(".", "in the current directory", path, S_ISREG(about.st_mode), place,
                           text);
    return 0;
}

static int write_read_only(const struct folder *workdir, struct buffer *text)
{
    return buffer_format(
        text,
        "%s is read-only: --workdir DIR:rw lets the program change it, DIR:overlay "
        "a copy; %s and %s are writable.\n",
        visible_name(workdir->path).text, RUN_WORK, RUN_TEMPORARY);
}

int neighbour_hint_write(const struct run_result *result, const struct neighbour_place *place,
                         struct buffer *text)
{
    char window[WINDOW_SIZE + 1];
    struct missed missed;
    copy_end(result, window);
    /* The last line that says something counts. */
    size_t end = strlen(window);
    for (int i = 0; i < LINES_MAX && end > 0; i++) {
        window[end] = '\0';
        char *newline = strrchr(window, '\n');
        const char *line = newline != NULL ? newline + 1 : window;
        if (place->workdir == NULL && (read_languages(line, &missed) || read_shell(line, &missed)))
            return write_missed(&missed, place, text);
        if (place->workdir != NULL && place->workdir->mode == FOLDER_READ_ONLY &&
            strcasestr(line, "Read-only file system") != NULL)
            return write_read_only(place->workdir, text);
        end = newline != NULL ? (size_t)(newline - window) : 0;
    }
    return 0;
}
