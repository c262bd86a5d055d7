#include "mcp/http/http_tokens.h"

#include "interpreter/settings/small_file.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

#define FILE_MAX ((size_t)HTTP_TOKENS_MAX * (HTTP_TOKEN_NAME_MAX + 1 + 128) + HTTP_TOKEN_MAX)
#define ONLY_NAME "default"

static bool is_token(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return length >= HTTP_TOKEN_MIN && length <= HTTP_TOKEN_MAX;
}

static bool is_name(const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t length = strlen(text);
    return length > 0 && length <= HTTP_TOKEN_NAME_MAX && strspn(text, letters) == length;
}

/* No message has a word that may be a token. */
static int add_line(struct http_tokens *tokens, char *line, size_t number, const char *path,
                    struct fault *fault)
{
    char *rest = line;
    const char *first = strsep(&rest, " \t");
    const char *value = rest != NULL ? rest + strspn(rest, " \t") : first;
    const char *name = rest != NULL ? first : ONLY_NAME;
    if (!is_name(name))
        return fault_set(fault, EINVAL,
                         "line %zu of %s must be \"NAME TOKEN\", with a name of letters, digits, "
                         "\"-\", \"_\" and \".\"",
                         number, path);
    if (!is_token(value))
        return fault_set(
            fault, EINVAL,
            "the token in %s, line %zu, must have %d to %d letters, digits and signs, and "
            "no blanks; `openssl rand -hex 32` makes one",
            path, number, HTTP_TOKEN_MIN, HTTP_TOKEN_MAX);
    for (size_t i = 0; i < tokens->count; i++)
        if (strcmp(tokens->list[i].name, name) == 0 || strcmp(tokens->list[i].value, value) == 0)
            return fault_set(fault, EINVAL,
                             "line %zu of %s has the name or the token of an earlier one: each "
                             "client needs its own",
                             number, path);
    if (tokens->count == HTTP_TOKENS_MAX)
        return fault_set(fault, E2BIG, "%s has more than %d tokens", path, HTTP_TOKENS_MAX);
    tokens->list[tokens->count++] = (struct http_token){name, value};
    return 0;
}

static int read_lines(struct http_tokens *tokens, char *text, const char *path, struct fault *fault)
{
    int r = 0;
    size_t number = 1;
    for (char *line; r == 0 && (line = strsep(&text, "\n")) != NULL; number++) {
        line[strcspn(line, "\r")] = '\0';
        if (line[0] != '\0' && line[0] != '#')
            r = add_line(tokens, line, number, path, fault);
    }
    if (r == 0 && tokens->count == 0)
        return fault_set(fault, EINVAL, "%s has no token; `openssl rand -hex 32` makes one", path);
    return r;
}

int http_tokens_read(struct http_tokens *tokens, const char *path, struct fault *fault)
{
    *tokens = (struct http_tokens){.text = BUFFER(2 * FILE_MAX)};
    int r = small_file_read_private(path, "the file of --http-token-file", FILE_MAX, &tokens->text,
                                    fault);
    if (r == -ENOENT)
        return fault_set(fault, ENOENT, "the file of --http-token-file %s does not exist", path);
    if (r < 0)
        return r;
    if (memchr(tokens->text.data, '\0', tokens->text.length) != NULL)
        return fault_set(fault, EINVAL, "%s has a NUL", path);
    if (buffer_string(&tokens->text) == NULL)
        return fault_set(fault, ENOMEM, "no memory for the tokens");
    return read_lines(tokens, tokens->text.data, path, fault);
}

static bool is_same(const char *value, const char *given, size_t length)
{
    size_t own = strlen(value);
    size_t differs = length ^ own;
    for (size_t i = 0; i < length; i++)
        differs |= (unsigned char)given[i] ^ (unsigned char)value[i % own];
    return differs == 0;
}

bool http_tokens_find(const struct http_tokens *tokens, const char *given, unsigned *ret_number)
{
    bool is_any = false;
    size_t length = strlen(given);
    for (size_t i = 0; i < tokens->count; i++) {
        bool is_this = is_same(tokens->list[i].value, given, length);
        *ret_number = is_this ? (unsigned)i : *ret_number;
        is_any |= is_this;
    }
    return is_any;
}

void http_tokens_release(struct http_tokens *tokens)
{
    if (tokens->text.data != NULL)
        explicit_bzero(tokens->text.data, tokens->text.capacity);
    buffer_release(&tokens->text);
    tokens->count = 0;
}
