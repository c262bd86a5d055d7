#include "mcp/http/http_address.h"

#include "sandbox/base/owned.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_SIZE 64
#define PORT_DIGITS_MAX 5
#define PORT_MAX 65535
#define BACKLOG 1024

static int refuse(const char *text, struct fault *fault)
{
    return fault_set(fault, EINVAL,
                     "--http must be a port, such as 8080, or an address with one, such as "
                     "127.0.0.1:8080 or [::1]:8080, not \"%.60s\"",
                     text);
}

static int read_port(const char *text, uint16_t *ret_port)
{
    size_t length = strlen(text);
    if (length == 0 || length > PORT_DIGITS_MAX || strspn(text, "0123456789") != length)
        return -EINVAL;
    long port = strtol(text, NULL, 10);
    if (port > PORT_MAX)
        return -EINVAL;
    *ret_port = (uint16_t)port;
    return 0;
}

static int set_address_4(const char *host, uint16_t port, struct http_address *address)
{
    struct sockaddr_in *socket = (struct sockaddr_in *)&address->socket;
    *socket = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, host, &socket->sin_addr) != 1)
        return -EINVAL;
    address->length = sizeof(*socket);
    address->is_loopback = ntohl(socket->sin_addr.s_addr) >> 24 == 127;
    return 0;
}

static int set_address_6(const char *host, uint16_t port, struct http_address *address)
{
    struct sockaddr_in6 *socket = (struct sockaddr_in6 *)&address->socket;
    *socket = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET6, host, &socket->sin6_addr) != 1)
        return -EINVAL;
    address->length = sizeof(*socket);
    address->is_loopback = IN6_IS_ADDR_LOOPBACK(&socket->sin6_addr);
    return 0;
}

int http_address_read(const char *text, struct http_address *ret_address, struct fault *fault)
{
    struct http_address address = {0};
    char host[HOST_SIZE] = "127.0.0.1";
    uint16_t port;
    const char *colon = strrchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (read_port(colon != NULL ? colon + 1 : text, &port) < 0 || length >= HOST_SIZE)
        return refuse(text, fault);
    bool is_bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (colon != NULL)
        snprintf(host, sizeof(host), "%.*s", (int)(is_bracketed ? length - 2 : length),
                 is_bracketed ? text + 1 : text);
    if (strcmp(host, "localhost") == 0)
        strcpy(host, "127.0.0.1");
    int r =
        is_bracketed ? set_address_6(host, port, &address) : set_address_4(host, port, &address);
    if (r < 0)
        return refuse(text, fault);
    *ret_address = address;
    return 0;
}

static int bind_and_listen(int fd, const struct http_address *address)
{
    int on = 1;
    bool is_6 = address->socket.ss_family == AF_INET6;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        (is_6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
        bind(fd, (const struct sockaddr *)&address->socket, address->length) < 0 ||
        listen(fd, BACKLOG) < 0)
        return -errno;
    return 0;
}

static uint16_t port_of(const struct sockaddr_storage *socket)
{
    return ntohs(socket->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)socket)->sin6_port
                                               : ((const struct sockaddr_in *)socket)->sin_port);
}

static int read_own_port(int fd, uint16_t *ret_port)
{
    struct sockaddr_storage own = {0};
    socklen_t length = sizeof(own);
    if (getsockname(fd, (struct sockaddr *)&own, &length) < 0)
        return -errno;
    *ret_port = port_of(&own);
    return 0;
}

int http_address_listen(const struct http_address *address, int *ret_fd, uint16_t *ret_port,
                        struct fault *fault)
{
    OWNED_FD int fd =
        socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = fd < 0 ? -errno : bind_and_listen(fd, address);
    if (r == 0)
        r = read_own_port(fd, ret_port);
    if (r < 0) {
        char text[HTTP_ADDRESS_TEXT_SIZE];
        http_address_show(address, text);
        return fault_set(fault, -r, "listening at %s:%u, the address of --http: %m%s", text,
                         port_of(&address->socket),
                         r == -EADDRINUSE ? "; another program has this port: choose another one"
                         : r == -EACCES   ? "; choose a port from 1024 on"
                                          : "");
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

void http_address_show(const struct http_address *address, char text[HTTP_ADDRESS_TEXT_SIZE])
{
    char host[INET6_ADDRSTRLEN] = "";
    bool is_6 = address->socket.ss_family == AF_INET6;
    const struct sockaddr_in *of_4 = (const struct sockaddr_in *)&address->socket;
    const struct sockaddr_in6 *of_6 = (const struct sockaddr_in6 *)&address->socket;
    inet_ntop(address->socket.ss_family,
              is_6 ? (const void *)&of_6->sin6_addr : (const void *)&of_4->sin_addr, host,
              sizeof(host));
    snprintf(text, HTTP_ADDRESS_TEXT_SIZE, is_6 ? "[%s]" : "%s", host);
}
