/*
 * HTTP for registries: a wrapper of libcurl that imposes these rules on each transfer:
 *
 * - https; plain http only for a registry on this machine, and then only to this machine;
 * - certificates are checked; proxies come from libcurl's variables, certificates also from
 *   SSL_CERT_FILE, SSL_CERT_DIR and CURL_CA_BUNDLE; this machine is reached without a proxy;
 * - at most five redirects, each by the same rules; Authorization is sent only to the original
 *   origin: scheme, host and port;
 * - no time limit for the whole transfer, but one for silence; a maximum size.
 *
 * libcurl may run a thread to resolve names, so no jailed child may be started while a struct http
 * is open.
 *
 * Side: parent.  Source: libcurl-multi(3), curl_easy_setopt(3); RFC 9110.
 */
#ifndef IMAGES_REGISTRY_HTTP_H
#define IMAGES_REGISTRY_HTTP_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_REDIRECTS_MAX 5
#define HTTP_URL_MAX 16384       /* signed ones are long */
#define HTTP_ERROR_MAX (64 << 10) /* bytes kept of an error response's body */
#define HTTP_HEADER_MAX 4096

struct http;

int http_open(struct http **ret_http, struct fault *fault);
void http_release(struct http **http);

/* A request. Texts are borrowed for the duration of the transfer. */
struct http_request {
    const char *url;
    const char *accept;        /* value of the header, or NULL */
    const char *authorization; /* likewise: a secret */
    const char *form;          /* body of a POST, may contain a secret; NULL: GET */
    uint64_t offset;           /* first byte wanted; 0: everything */
    bool loopback;             /* the registry is this machine */
    /*
     * Receives the body of a 200 or 206. Returns 0; a negative errno ends the transfer. NULL: the
     * body is stored in answer.body, at most `body_max` bytes.
     */
    int (*sink)(void *data, const void *bytes, size_t length);
    /* Called once before the first byte with the status, 200 or 206. Returns like the sink. */
    int (*begin)(void *data, long status, uint64_t offset);
    void *data;
    size_t body_max;
};

struct http_answer {
    long status;                           /* 0: no response */
    char content_digest[HTTP_HEADER_MAX];  /* Docker-Content-Digest */
    char challenge[HTTP_HEADER_MAX];       /* WWW-Authenticate, several joined */
    int64_t retry_after;                   /* milliseconds; -1 not said */
    uint64_t range_start;                  /* of a 206 */
    struct buffer body;                    /* of an error response, or if there is no sink */
};

struct transfer {
    struct http_request request;
    struct http_answer answer;
    CURL *easy;                 /* owned, as what follows */
    struct curl_slist *headers;
    char *url;                  /* current URL, after redirects */
    unsigned redirects;
    bool active, done, began;
    int sink_error;             /* negative errno of sink or begin, or of the maximum */
    CURLcode code;              /* how libcurl ended */
    char error[CURL_ERROR_SIZE];
    const char *refused;        /* why a redirect was not followed, or NULL */
};

/* Starts a transfer in a zeroed struct. 0 or a negative errno. */
int http_start(struct http *http, struct transfer *transfer, const struct http_request *request,
               struct fault *fault);
void http_stop(struct http *http, struct transfer *transfer); /* frees; may be started again */

/* Waits at most this long for an event on any transfer. 0; -EINTR after a signal; -EIO. */
int http_turn(struct http *http, int milliseconds);

/* Wakes http_turn(), now or the next time. Any thread may call it. */
void http_wake(struct http *http);

/* Waits until that transfer is done. Returns like http_turn(). */
int http_wait(struct http *http, const struct transfer *transfer);

/* Whether a finished transfer is worth a retry: network errors, 429 and 5xx. */
bool http_transfer_may_retry(const struct transfer *transfer);

/* The delay before the given try, counted from 1; the server's Retry-After, if any. */
int64_t http_transfer_delay(const struct transfer *transfer, unsigned number);

/*
 * Fills the fault for a transfer ended by libcurl, the sink or a redirect rather than by a
 * response. Returns a negative errno.
 */
int http_transfer_fault(const struct transfer *transfer, struct fault *fault);

/* Sleeps this long, or until a signal: 0 or -EINTR. */
int http_pause(int64_t milliseconds);

#endif
