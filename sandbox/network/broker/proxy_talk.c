#include "sandbox/network/broker/proxy_talk.h"

#include "sandbox/network/broker/sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_MAX 2048
#define STATUS_AT 9 /* behind "HTTP/1.1 " */

int proxy_ask(int fd, const struct proxy *proxy, const char *host, uint16_t port)
{
    char request[REQUEST_MAX];
    const char *open = strchr(host, ':') != NULL ? "[" : "";
    const char *close = open[0] != '\0' ? "]" : "";
    bool has_login = proxy->login[0] != '\0';
    int length = snprintf(
        request, sizeof(request), "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n%s%s%s\r\n",
        open, host, close, port, open, host, close, port,
        has_login ? "Proxy-Authorization: Basic " : "", proxy->login, has_login ? "\r\n" : "");
    /* It fits into the buffer of a new socket. */
    ssize_t sent = send(fd, request, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == length ? 0 : sent < 0 ? -errno : -EIO;
}

enum proxy_result proxy_answer_read(const char *bytes, size_t length, size_t *ret_length)
{
    static const char end[] = "\r\n\r\n";
    static const char begin[] = "HTTP/1.";
    size_t known = length < strlen(begin) ? length : strlen(begin);
    if (memcmp(bytes, begin, known) != 0)
        return PROXY_REFUSED;
    const char *last = memmem(bytes, length, end, strlen(end));
    if (last == NULL)
        return length < PROXY_ANSWER_MAX ? PROXY_INCOMPLETE : PROXY_REFUSED;
    *ret_length = (size_t)(last - bytes) + strlen(end);
    bool is_success =
        *ret_length > STATUS_AT && bytes[STATUS_AT - 1] == ' ' && bytes[STATUS_AT] == '2';
    return is_success ? PROXY_CONNECTED : PROXY_REFUSED;
}

enum proxy_result proxy_answer(int fd, size_t *seen)
{
    char bytes[PROXY_ANSWER_MAX];
    size_t head = 0;
    ssize_t length = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    if (length <= 0)
        return length < 0 && errno == EAGAIN ? PROXY_INCOMPLETE : PROXY_REFUSED;
    enum proxy_result result = proxy_answer_read(bytes, (size_t)length, &head);
    if (result == PROXY_INCOMPLETE && (size_t)length == *seen) /* it has ended */
        return PROXY_REFUSED;
    *seen = (size_t)length;
    /* Wait for more than is there. */
    socket_set(fd, SOL_SOCKET, SO_RCVLOWAT, result == PROXY_INCOMPLETE ? (int)length + 1 : 1);
    if (result == PROXY_CONNECTED && recv(fd, bytes, head, MSG_DONTWAIT) != (ssize_t)head)
        return PROXY_REFUSED;
    return result;
}
