#include "interpreter/code_reading.h"

#include "sandbox/base/owned.h"

#include <string.h>
#include <strings.h>

#define DECLARATION_LINES 2
#define END_OF_ZIP_DIRECTORY "PK\5\6"

static const char encoding_characters[] =
    "-_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* What follows "coding" if that is a declaration: whether it names UTF-8 as Python itself writes it. */
static bool names_utf8(const char *text)
{
    text += strspn(text, " \t");
    size_t length = strspn(text, encoding_characters);
    return length == 0 || (length == 5 && (strncasecmp(text, "utf-8", 5) == 0 ||
                                           strncasecmp(text, "utf_8", 5) == 0));
}

static bool declares_encoding(const char *line)
{
    for (const char *at = strstr(line, "coding"); at != NULL; at = strstr(at + 1, "coding")) {
        const char *sign = at + strlen("coding");
        if ((*sign == ':' || *sign == '=') && !names_utf8(sign + 1))
            return true;
    }
    return false;
}

bool code_reading_may_import(const char *code, size_t length)
{
    static const char *const words[] = {"import", "exec", "eval"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (memmem(code, length, words[i], strlen(words[i])) != NULL)
            return true;
    }
    return false;
}

bool code_reading_is_once(const char *code, size_t length)
{
    if (memmem(code, length, END_OF_ZIP_DIRECTORY, strlen(END_OF_ZIP_DIRECTORY)) != NULL)
        return false;
    const char *line = code;
    const char *end = code + length;
    for (int i = 0; i < DECLARATION_LINES && line < end; i++) {
        size_t left = (size_t)(end - line);
        size_t used = 0;
        while (used < left && line[used] != '\n' && line[used] != '\r')
            used++;
        OWNED_MEMORY char *copy = strndup(line, used);
        if (copy == NULL || strlen(copy) < used || declares_encoding(copy))
            return false;
        line += used + 1;
        line += line < end && line[-1] == '\r' && line[0] == '\n';
    }
    return true;
}
