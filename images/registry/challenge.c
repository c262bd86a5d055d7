#include "images/registry/challenge.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define WHITE " \t"

/* RFC 9110, 5.6.2. */
static size_t token_length(const char *text)
{
    return strspn(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static bool token_is(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(text, name, length) == 0;
}

/* Reads a token or a quoted string, RFC 9110, 5.6.4. Moves `at` past it. */
static int value_read(const char **at, char value[CHALLENGE_TEXT_MAX])
{
    const char *text = *at;
    size_t length = 0;
    if (*text != '"') {
        length = token_length(text);
        if (length == 0 || length >= CHALLENGE_TEXT_MAX)
            return -EINVAL;
        memcpy(value, text, length);
        value[length] = '\0';
        *at = text + length;
        return 0;
    }
    for (text++; *text != '"'; text++) {
        if (*text == '\\')
            text++;
        bool control = (unsigned char)*text < 0x20 && *text != '\t';
        if (control || *text == 0x7f || length + 1 >= CHALLENGE_TEXT_MAX)
            return -EINVAL;
        value[length++] = *text;
    }
    value[length] = '\0';
    *at = text + 1;
    return 0;
}

static char *parameter_place(struct challenge *challenge, const char *name, size_t length)
{
    if (token_is(name, length, "realm"))
        return challenge->realm;
    if (token_is(name, length, "service"))
        return challenge->service;
    if (token_is(name, length, "scope"))
        return challenge->scope;
    return token_is(name, length, "error") ? challenge->error : NULL;
}

/* Reads "NAME=VALUE": 1; 0: something else follows, a scheme; -EINVAL. */
static int parameter_read(const char **at, struct challenge *challenge)
{
    size_t length = token_length(*at);
    const char *equals = *at + length + strspn(*at + length, WHITE);
    if (length == 0 || *equals != '=')
        return 0;
    const char *value = equals + 1 + strspn(equals + 1, WHITE);
    char ignored[CHALLENGE_TEXT_MAX];
    char *place = parameter_place(challenge, *at, length);
    int r = value_read(&value, place != NULL ? place : ignored);
    if (r < 0)
        return r;
    *at = value;
    return 1;
}

/* Skips a base64 token in place of parameters (RFC 9110, 11.2); our schemes do not use it. */
static void token68_pass(const char **at)
{
    size_t length = strspn(*at, "-._~+/0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    length += strspn(*at + length, "=");
    const char *end = *at + length + strspn(*at + length, WHITE);
    if (length > 0 && (*end == ',' || *end == '\0'))
        *at = end;
}

/* Reads one challenge: its scheme, and parameters up to the next scheme. */
static int one_read(const char **at, struct challenge *challenge)
{
    *challenge = (struct challenge){.scheme = CHALLENGE_OTHER};
    size_t length = token_length(*at);
    if (length == 0)
        return -EINVAL;
    if (token_is(*at, length, "Bearer"))
        challenge->scheme = CHALLENGE_BEARER;
    else if (token_is(*at, length, "Basic"))
        challenge->scheme = CHALLENGE_BASIC;
    const char *next = *at + length;
    if (*next != '\0' && strchr(WHITE ",", *next) == NULL)
        return -EINVAL;
    next += strspn(next, WHITE);
    token68_pass(&next);
    for (;;) {
        const char *parameter = next + strspn(next, WHITE ",");
        int r = parameter_read(&parameter, challenge);
        if (r < 0)
            return r;
        if (r == 0)
            break;
        next = parameter + strspn(parameter, WHITE);
        if (*next != ',' && *next != '\0')
            return -EINVAL;
    }
    *at = next + strspn(next, WHITE ",");
    return 0;
}

int challenge_parse(const char *value, struct challenge *ret_challenge)
{
    struct challenge best, one;
    size_t count = 0;
    const char *at = value + strspn(value, WHITE ",");
    for (; *at != '\0'; count++) {
        int r = count < CHALLENGES_MAX ? one_read(&at, &one) : -EINVAL;
        if (r < 0)
            return r;
        if (count == 0 || one.scheme > best.scheme)
            best = one;
    }
    if (count == 0)
        return -EINVAL;
    *ret_challenge = best;
    return 0;
}
