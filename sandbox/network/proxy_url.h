/*
 * The proxy through which this machine reaches the internet, if it has no other way.
 *
 * Side: both. Source: RFC 9110, 9.3.6 (CONNECT); curl(1), HTTPS_PROXY and NO_PROXY.
 */
#ifndef SANDBOX_NETWORK_PROXY_URL_H
#define SANDBOX_NETWORK_PROXY_URL_H

#include "sandbox/base/fault.h"
#include "sandbox/network/host_name.h"

#include <stdint.h>

#define PROXY_LOGIN_MAX 512 /* bytes of "user:password" in base64, with its NUL */

struct proxy {
    char host[HOST_NAME_SIZE]; /* a canonical name or an address; "": there is no proxy */
    uint16_t port;
    char login[PROXY_LOGIN_MAX]; /* base64 for Proxy-Authorization; "": none. A secret. */
};

/*
 * Reads "http://[USER:PASSWORD@]HOST[:PORT]"; "http://" may be missing. 0; -EINVAL with a fault, which does
 * not contain the login.
 */
int proxy_read(const char *url, struct proxy *ret_proxy, struct fault *fault);

#endif
