#include "mcp/http/http_guard.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STATUS_UNAUTHORIZED 401
#define STATUS_FORBIDDEN 403
#define STATUS_BAD_REQUEST 400
#define BEARER "Bearer "
#define HTTP_PORT 80

/* "name", "name:80", "[::1]:80". */
struct http_authority {
    const char *host;
    size_t length;
    bool has_port;
    uint16_t port;
};

static bool read_authority(const char *text, struct http_authority *ret_authority)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : text + strcspn(text, ":");
    if (end == NULL)
        return false;
    end += text[0] == '[';
    *ret_authority = (struct http_authority){.host = text, .length = (size_t)(end - text)};
    if (*end == '\0')
        return ret_authority->length > 0;
    size_t digits = strspn(end + 1, "0123456789");
    if (*end != ':' || digits == 0 || digits > 5 || end[1 + digits] != '\0')
        return false;
    unsigned long port = strtoul(end + 1, NULL, 10);
    ret_authority->has_port = true;
    ret_authority->port = (uint16_t)port;
    return ret_authority->length > 0 && port <= UINT16_MAX;
}

static bool is_host(const struct http_authority *authority, const char *name, size_t length)
{
    return authority->length == length && strncasecmp(authority->host, name, length) == 0;
}

/* With any port: a proxy in front has its own. */
static bool is_named(const struct http_guard *guard, const struct http_authority *authority)
{
    const char *name = guard->names != NULL ? guard->names : "";
    while (*name != '\0') {
        size_t length = strcspn(name, ", ");
        if (length > 0 && is_host(authority, name, length))
            return true;
        name += length;
        name += strspn(name, ", ");
    }
    return false;
}

static bool is_ours(const struct http_guard *guard, const struct http_authority *authority)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
    if ((authority->has_port ? authority->port : HTTP_PORT) != guard->port)
        return false;
    if (is_host(authority, guard->address, strlen(guard->address)))
        return true;
    for (size_t i = 0; i < ARRAY_LENGTH(loopback) && guard->is_loopback; i++)
        if (is_host(authority, loopback[i], strlen(loopback[i])))
            return true;
    return false;
}

/*
 * Beyond loopback the host may be called whatever the network calls it, unless the operator names it; a
 * page that was led here has no token.
 */
static bool is_any_host_right(const struct http_guard *guard)
{
    return !guard->is_loopback && (guard->names == NULL || guard->names[0] == '\0');
}

/* With a free choice of hosts, a page must come from the one that it asks. */
static bool is_origin_right(const struct http_guard *guard, const char *origin, const char *host)
{
    struct http_authority authority;
    const char *rest = strncasecmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncasecmp(origin, "https://", 8) == 0 ? origin + 8
                                                                 : NULL;
    if (rest == NULL || !read_authority(rest, &authority))
        return false;
    if (is_any_host_right(guard))
        return strcasecmp(rest, host) == 0;
    return is_ours(guard, &authority) || is_named(guard, &authority);
}

static bool is_authorized(const struct http_guard *guard, const char *authorization,
                          unsigned *ret_owner)
{
    *ret_owner = 0;
    if (guard->tokens.count == 0)
        return true;
    if (authorization == NULL || strncasecmp(authorization, BEARER, strlen(BEARER)) != 0)
        return false;
    const char *given = authorization + strlen(BEARER);
    return http_tokens_find(&guard->tokens, given + strspn(given, " "), ret_owner);
}

unsigned http_guard_check(const struct http_guard *guard, const struct http_credentials *given,
                          unsigned *ret_owner, const char **ret_why)
{
    struct http_authority authority;
    if (given->host == NULL || !read_authority(given->host, &authority)) {
        *ret_why = "the request names no host, or none that can be read";
        return STATUS_BAD_REQUEST;
    }
    if (!is_any_host_right(guard) && !is_ours(guard, &authority) && !is_named(guard, &authority)) {
        *ret_why =
            "the host of the request is not this server's: use its address, or name the host "
            "with --http-host";
        return STATUS_FORBIDDEN;
    }
    if (given->origin != NULL && !is_origin_right(guard, given->origin, given->host)) {
        *ret_why = "pages of this origin may not use the server: name its host with --http-host";
        return STATUS_FORBIDDEN;
    }
    if (!is_authorized(guard, given->authorization, ret_owner)) {
        *ret_why = "the request needs the token of the server: Authorization: Bearer TOKEN";
        return STATUS_UNAUTHORIZED;
    }
    return 0;
}

void http_guard_release(struct http_guard *guard)
{
    http_tokens_release(&guard->tokens);
}
