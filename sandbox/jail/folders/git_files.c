#include "sandbox/jail/folders/git_files.h"

#include "sandbox/base/owned.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_SIZE 16

static bool has(int directory_fd, const char *name)
{
    struct stat about;
    return fstatat(directory_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

bool git_directory_is(int directory_fd)
{
    return has(directory_fd, "HEAD") &&
           ((has(directory_fd, "objects") && has(directory_fd, "refs")) ||
            has(directory_fd, "commondir"));
}

/* A device or a pipe is not opened: that could have effects, or wait. */
static int open_regular(const char *path)
{
    struct stat about;
    char again[sizeof("/proc/self/fd/") + 10];
    OWNED_FD int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0 || fstat(place, &about) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode))
        return -EINVAL;
    snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
    int fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int git_file_read(const char *path, char *text, size_t size)
{
    OWNED_FD int fd = open_regular(path);
    if (fd < 0)
        return fd;
    size_t length = 0;
    while (length < size) {
        ssize_t count = read(fd, text + length, size - length);
        if (count < 0 && errno != EINTR)
            return -errno;
        if (count == 0)
            break;
        length += count > 0 ? (size_t)count : 0;
    }
    if (length == size)
        return -EFBIG;
    text[length] = '\0';
    return (int)length;
}

char *git_file_commondir(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        text[--length] = '\0';
    return length > 0 ? text : NULL;
}

char *git_file_gitdir(char *text)
{
    static const char begin[] = "gitdir: ";
    if (strncmp(text, begin, sizeof(begin) - 1) != 0)
        return NULL;
    return git_file_commondir(text + sizeof(begin) - 1);
}

static char *skip_space(char *text)
{
    return text + strspn(text, " \t\r\v\f");
}

static char *skip_line(char *text)
{
    text += strcspn(text, "\n");
    return *text == '\n' ? text + 1 : text;
}

/* "[name]", "[name \"part\"]", "[name.part]": only the name matters. The text after it. */
static char *read_section(char *text, char section[GIT_SECTION_SIZE])
{
    size_t length = 0;
    for (text++; isalnum((unsigned char)*text) || *text == '-'; text++)
        if (length < GIT_SECTION_SIZE)
            section[length++] = (char)tolower((unsigned char)*text);
    section[length < GIT_SECTION_SIZE ? length : 0] = '\0';
    bool is_quoted = false;
    for (; *text != '\0' && *text != '\n' && (is_quoted || *text != ']'); text++) {
        if (*text == '"')
            is_quoted = !is_quoted;
        else if (*text == '\\' && is_quoted && text[1] != '\0')
            text++;
    }
    return *text == ']' ? text + 1 : text;
}

/* The byte that an escape stands for, or the byte itself. */
static char unescape(char byte)
{
    return (char)(byte == 'n' ? '\n' : byte == 't' ? '\t' : byte == 'b' ? '\b' : byte);
}

/* Unquotes a value in place: it never grows. The text after its line. */
static char *read_value(char *text)
{
    char *to = text;
    char *end = text; /* without space at the end */
    bool is_quoted = false;
    for (; *text != '\0' && *text != '\n'; text++) {
        if (!is_quoted && (*text == '#' || *text == ';'))
            break;
        if (*text == '"') {
            is_quoted = !is_quoted;
            end = to;
            continue;
        }
        bool is_escape = *text == '\\' && text[1] != '\0';
        text += is_escape;
        if (is_escape && (*text == '\n' || (*text == '\r' && text[1] == '\n'))) {
            text += *text == '\r';
            continue; /* the value goes on in the next line */
        }
        bool is_space = !is_escape && !is_quoted && isspace((unsigned char)*text);
        char byte = *text;
        if (is_escape)
            byte = unescape(byte);
        *to++ = byte;
        if (!is_space)
            end = to;
    }
    text = skip_line(text);
    *end = '\0';
    return text;
}

/* Whether a key of a section is a setting that names a path. */
static bool is_path(const char *section, const char *key, enum git_setting *ret_setting)
{
    static const struct {
        const char *section, *key;
        enum git_setting setting;
    } settings[] = {
        {"core", "hookspath", GIT_HOOKS},
        {"core", "worktree", GIT_WORKTREE},
        {"include", "path", GIT_INCLUDE},
        {"includeif", "path", GIT_INCLUDE},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++) {
        if (strcmp(section, settings[i].section) == 0 && strcmp(key, settings[i].key) == 0) {
            *ret_setting = settings[i].setting;
            return true;
        }
    }
    return false;
}

static char *read_key(char *text, char key[KEY_SIZE])
{
    size_t length = 0;
    for (; isalnum((unsigned char)*text) || *text == '-'; text++)
        if (length < KEY_SIZE)
            key[length++] = (char)tolower((unsigned char)*text);
    key[length < KEY_SIZE ? length : 0] = '\0';
    return skip_space(text);
}

char *git_settings_next(char **text, char section[GIT_SECTION_SIZE], enum git_setting *ret_setting)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which git skips at the beginning */
    char *at = *text + (strncmp(*text, mark, strlen(mark)) == 0 ? strlen(mark) : 0);
    while (*(at = skip_space(at)) != '\0') {
        char key[KEY_SIZE];
        if (*at == '[') {
            at = read_section(at, section);
            continue;
        }
        if (!isalnum((unsigned char)*at)) {
            at = skip_line(at);
            continue;
        }
        at = read_key(at, key);
        if (*at != '=') {
            at = skip_line(at);
            continue;
        }
        char *value = skip_space(at + 1);
        at = read_value(value);
        if (is_path(section, key, ret_setting)) {
            *text = at;
            return value;
        }
    }
    *text = at;
    return NULL;
}
