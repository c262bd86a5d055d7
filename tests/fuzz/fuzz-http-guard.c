/*
 * Lines: the address of --http, the names of --http-host, a token, and the fields Host, Origin and
 * Authorization of a request; a line "-" is none. An address that is read is shown and read as the same. A
 * request passes exactly when its host is ours, the page that it comes from is of such a host, and it
 * brings the token: as told here once more, by comparing whole texts.
 */
#include "mcp/http/http_guard.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PORT_MAX 65535

/* NULL for "-", and where no line is left. The line is the caller's. */
static const char *or_none(const char *line)
{
    return line != NULL && strcmp(line, "-") != 0 ? line : NULL;
}

static uint16_t port_of(const struct http_address *address)
{
    return ntohs(address->socket.ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)&address->socket)->sin6_port
                     : ((const struct sockaddr_in *)&address->socket)->sin_port);
}

/* Fills in where the guard's server listens. False: there is no such address. */
static bool listen_at(const char *text, struct http_guard *guard)
{
    struct http_address address = {0};
    struct http_address again = {0};
    struct fault fault = {0};
    char shown[HTTP_ADDRESS_TEXT_SIZE + 8];
    int r = http_address_read(text, &address, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0)
        return false;
    http_address_show(&address, guard->address);
    guard->port = port_of(&address);
    guard->is_loopback = address.is_loopback;
    snprintf(shown, sizeof(shown), "%s:%u", guard->address, guard->port);
    FUZZ_CHECK(http_address_read(shown, &again, &fault) == 0);
    FUZZ_CHECK(again.length == address.length && again.is_loopback == address.is_loopback &&
               memcmp(&again.socket, &address.socket, address.length) == 0);
    bool is_4 = strncmp(guard->address, "127.", 4) == 0;
    FUZZ_CHECK(guard->is_loopback == (is_4 || strcmp(guard->address, "[::1]") == 0));
    return true;
}

/* The port of "host:port", with what follows the host cut off; HTTP's own without one. -1: it cannot be read. */
static long cut_port(char *authority)
{
    char *colon = strrchr(authority, ':');
    const char *bracket = strrchr(authority, ']');
    if (authority[0] == '[' && bracket == NULL)
        return -1;
    if (colon == NULL || (authority[0] == '[' && colon < bracket))
        return 80;
    size_t length = strlen(colon + 1);
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)colon[1 + i]))
            return -1;
    *colon = '\0';
    long port = atol(colon + 1);
    return length >= 1 && length <= 5 && port <= PORT_MAX ? port : -1;
}

/* "[" to the first "]", or without any ":". */
static bool is_one_host(const char *host)
{
    size_t length = strlen(host);
    return host[0] == '[' ? strchr(host, ']') == host + length - 1
                          : length > 0 && strchr(host, ':') == NULL;
}

static bool is_in(const char *names, const char *host)
{
    OWNED_MEMORY char *copy = strdup(names);
    FUZZ_CHECK(copy != NULL);
    char *rest = copy;
    for (char *name; (name = strsep(&rest, ", ")) != NULL;)
        if (name[0] != '\0' && strcasecmp(name, host) == 0)
            return true;
    return false;
}

/* Whether it can be read at all; and whether it is a host of ours. */
static bool look_at(const struct http_guard *guard, const char *authority, bool *ret_is_ours)
{
    OWNED_MEMORY char *host = strdup(authority);
    FUZZ_CHECK(host != NULL);
    long port = cut_port(host);
    *ret_is_ours = false;
    if (port < 0 || !is_one_host(host))
        return false;
    bool is_loopback = is_in("localhost,127.0.0.1,[::1]", host);
    bool is_here = strcasecmp(host, guard->address) == 0 || (guard->is_loopback && is_loopback);
    *ret_is_ours =
        (is_here && port == guard->port) || (guard->names != NULL && is_in(guard->names, host));
    return true;
}

static bool is_page_right(const struct http_guard *guard, const char *origin, const char *host,
                          bool is_any_right)
{
    const char *colon = strchr(origin, ':');
    size_t length = colon != NULL ? (size_t)(colon - origin) : 0;
    bool is_web = (length == 4 && strncasecmp(origin, "http", 4) == 0) ||
                  (length == 5 && strncasecmp(origin, "https", 5) == 0);
    bool is_ours;
    if (!is_web || strncmp(colon, "://", 3) != 0 || !look_at(guard, colon + 3, &is_ours))
        return false;
    return is_any_right ? strcasecmp(colon + 3, host) == 0 : is_ours;
}

static bool has_token(const struct http_guard *guard, const char *authorization)
{
    const char *token = guard->tokens.list[0].value;
    if (guard->tokens.count == 0)
        return true;
    if (authorization == NULL || strncasecmp(authorization, "bearer ", 7) != 0)
        return false;
    size_t length = strlen(authorization);
    size_t own = strlen(token);
    const char *end = authorization + length;
    /* What is before the token is blank: a token has no blanks. */
    if (length < 7 + own || memcmp(end - own, token, own) != 0)
        return false;
    for (const char *at = authorization + 7; at < end - own; at++)
        if (*at != ' ')
            return false;
    return true;
}

static unsigned expected(const struct http_guard *guard, const struct http_credentials *given)
{
    bool is_ours = false;
    bool is_any_right = !guard->is_loopback && (guard->names == NULL || guard->names[0] == '\0');
    if (given->host == NULL || !look_at(guard, given->host, &is_ours))
        return 400;
    if (!is_any_right && !is_ours)
        return 403;
    if (given->origin != NULL && !is_page_right(guard, given->origin, given->host, is_any_right))
        return 403;
    return has_token(guard, given->authorization) ? 0 : 401;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *address = fuzz_line(&input);
    OWNED_MEMORY char *names = fuzz_line(&input);
    OWNED_MEMORY char *token = fuzz_line(&input);
    OWNED_MEMORY char *host = fuzz_line(&input);
    OWNED_MEMORY char *origin = fuzz_line(&input);
    OWNED_MEMORY char *authorization = fuzz_line(&input);
    OWNED(http_guard_release)
    struct http_guard guard = {.names = or_none(names)};
    const struct http_credentials given = {or_none(host), or_none(origin), or_none(authorization)};
    const char *why = NULL;
    if (address == NULL || !listen_at(address, &guard))
        return -1;
    /* http_tokens_read() takes no blank. */
    if (or_none(token) != NULL && strpbrk(token, " \t\r") == NULL)
        guard.tokens.list[guard.tokens.count++] = (struct http_token){"default", token};
    unsigned owner = 0;
    unsigned status = http_guard_check(&guard, &given, &owner, &why);
    FUZZ_CHECK(status == expected(&guard, &given));
    FUZZ_CHECK((status == 0) == (why == NULL));
    fuzz_check_plain(why, false);
    return 0;
}
