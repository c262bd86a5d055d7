/*
 * The address that --http names.
 *
 * Side: parent.
 */
#ifndef MCP_HTTP_HTTP_ADDRESS_H
#define MCP_HTTP_HTTP_ADDRESS_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define HTTP_ADDRESS_TEXT_SIZE 64

struct http_address {
    struct sockaddr_storage socket;
    socklen_t length;
    bool is_loopback;
};

/*
 * Reads PORT (on 127.0.0.1), ADDRESS:PORT or [ADDRESS]:PORT; "localhost" is 127.0.0.1. Other names are
 * refused, as they may lead to several addresses. 0, or -EINVAL with a fault.
 */
int http_address_read(const char *text, struct http_address *ret_address, struct fault *fault);

/*
 * Listens there. *ret_port is the port, chosen by the kernel if 0 was named. 0, or a negative errno with
 * its fault; the caller owns *ret_fd.
 */
int http_address_listen(const struct http_address *address, int *ret_fd, uint16_t *ret_port,
                        struct fault *fault);

/* "127.0.0.1", or "[::1]", as in a URL. */
void http_address_show(const struct http_address *address, char text[HTTP_ADDRESS_TEXT_SIZE]);

#endif
