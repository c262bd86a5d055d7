#include "sandbox/network/proxy_url.h"

#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/percent.h"
#include "sandbox/network/address.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PORT_DEFAULT 80

static int refuse(struct fault *fault, const char *why)
{
    return fault_set(
        fault, EINVAL,
        "it is no address of a proxy, http://HOST:PORT or http://USER:PASSWORD@HOST:PORT: %s", why);
}

/* "user:password" with %XX as in a URL. */
static int read_login(const char *text, size_t length, struct proxy *proxy, struct fault *fault)
{
    OWNED(buffer_release) struct buffer login = BUFFER(PROXY_LOGIN_MAX);
    OWNED(buffer_release) struct buffer encoded = BUFFER(PROXY_LOGIN_MAX);
    int r = percent_decode(&login, text, length);
    if (r == 0)
        r = base64_append(&encoded, login.data, login.length);
    const char *login_text = r == 0 ? buffer_string(&encoded) : NULL;
    if (r == -EINVAL)
        return refuse(fault, "after a '%' of the login there are not two hexadecimal digits");
    if (login_text == NULL)
        return refuse(fault, "the login is too long");
    memcpy(proxy->login, login_text, encoded.length + 1);
    return 0;
}

static int read_place(char *text, struct proxy *proxy, struct fault *fault)
{
    struct address address;
    char *colon = strrchr(text, ':');
    char *host = text;
    proxy->port = PORT_DEFAULT;
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return refuse(fault, "a bracket is missing");
        colon = end[1] == ':' ? end + 1 : NULL;
        *end = '\0';
        host = text + 1;
    }
    if (colon != NULL) {
        char *end;
        unsigned long port = strtoul(colon + 1, &end, 10);
        if (*end != '\0' || port == 0 || port > UINT16_MAX || colon[1] == '-' || colon[1] == '+')
            return refuse(fault, "the port is no number from 1 to 65535");
        proxy->port = (uint16_t)port;
        *colon = '\0';
    }
    if (address_parse(host, &address))
        address_format(&address, proxy->host);
    else if (!host_name_read(host, strlen(host), proxy->host))
        return refuse(fault, "the host is neither a name nor an address");
    return 0;
}

int proxy_read(const char *url, struct proxy *ret_proxy, struct fault *fault)
{
    struct proxy proxy = {0};
    const char *scheme = strstr(url, "://");
    if (scheme != NULL && strncasecmp(url, "http://", strlen("http://")) != 0)
        return refuse(fault, "only proxies by http are supported, not by https or SOCKS");
    const char *rest = scheme != NULL ? scheme + 3 : url;
    size_t length = strcspn(rest, "/");
    if (rest[length] == '/' && rest[length + 1] != '\0')
        return refuse(fault, "it has a path");
    OWNED_MEMORY char *authority = strndup(rest, length);
    if (authority == NULL)
        return fault_set(fault, ENOMEM, "reading the address of a proxy: %m");
    char *at = strrchr(authority, '@');
    int r = at != NULL ? read_login(authority, (size_t)(at - authority), &proxy, fault) : 0;
    if (r == 0)
        r = read_place(at != NULL ? at + 1 : authority, &proxy, fault);
    if (r == 0)
        *ret_proxy = proxy;
    return r;
}
