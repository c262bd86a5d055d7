#include "interpreter/changes/git_name.h"

#include <string.h>
#include <strings.h>

/* The letter of a byte's escape; 'o': three octal digits; 0: it needs none. */
static char escape_of(unsigned char byte)
{
    static const char letters[] = "abtnvfr"; /* 7 to 13 */
    if (byte >= 7 && byte <= 13)
        return letters[byte - 7];
    if (byte == '"' || byte == '\\')
        return (char)byte;
    return byte < ' ' || byte >= 0x7f ? 'o' : 0;
}

static bool needs_quotes(const char *text)
{
    for (; *text != '\0'; text++) {
        if (escape_of((unsigned char)*text) != 0)
            return true;
    }
    return false;
}

static int append_escaped(struct buffer *text, const char *bytes)
{
    int r = 0;
    for (; r == 0 && *bytes != '\0'; bytes++) {
        unsigned char byte = (unsigned char)*bytes;
        char letter = escape_of(byte);
        if (letter == 0)
            r = buffer_append(text, bytes, 1);
        else if (letter == 'o')
            r = buffer_format(text, "\\%03o", byte);
        else
            r = buffer_format(text, "\\%c", letter);
    }
    return r;
}

int git_name_quote(struct buffer *text, const char *prefix, const char *path)
{
    const char *quote = needs_quotes(path) ? "\"" : "";
    int r = buffer_append_text(text, quote);
    if (r == 0)
        r = buffer_append_text(text, prefix);
    if (r == 0)
        r = append_escaped(text, path);
    return r < 0 ? r : buffer_append_text(text, quote);
}

/* What NTFS drops from the end of a name, or takes for the end. */
static bool is_ntfs_end(const char *rest)
{
    rest += strspn(rest, ". ");
    return *rest == '\0' || *rest == '\\' || *rest == ':';
}

static bool is_git(const char *part)
{
    return (strncasecmp(part, ".git", 4) == 0 && is_ntfs_end(part + 4)) ||
           (strncasecmp(part, "git~1", 5) == 0 && is_ntfs_end(part + 5));
}

/* Short names of NTFS, too: "GITMOD~1", "GI7EBA~1"; more names than git refuses. */
static bool is_modules(const char *part)
{
    size_t length = strcspn(part, "/\\");
    return strncasecmp(part, ".gitmodules", 11) == 0 || strncasecmp(part, "gitmod~", 7) == 0 ||
           (strncasecmp(part, "gi", 2) == 0 && memchr(part, '~', length) != NULL);
}

/* A part begins after each '/' and, on NTFS, after each backslash. */
static bool has_part(const char *path, bool (*is_one)(const char *part))
{
    for (; path != NULL; path = strpbrk(path, "/\\")) {
        path += *path == '/' || *path == '\\';
        if (is_one(path))
            return true;
    }
    return false;
}

bool git_name_is_git(const char *name)
{
    return has_part(name, is_git);
}

bool git_path_has_modules(const char *path)
{
    return has_part(path, is_modules);
}
