/*
 * HTTP for registries: libcurl, wrapped so that each transfer follows the rules of this program.
 *
 * - https; plain http only with a registry of this machine, and then only to this machine;
 * - certificates are checked; proxies come from libcurl's variables, certificates also from
 *   SSL_CERT_FILE, SSL_CERT_DIR and CURL_CA_BUNDLE; this machine is reached without a proxy;
 * - at most five redirects, each by the same rules, and Authorization stays with the origin that it
 *   was meant for: scheme, host and port;
 * - no time limit on the whole, one on silence; a maximum on what is taken.
 *
 * libcurl may run a thread to find addresses: no jailed child is started while an http is open.
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
#define HTTP_ERROR_MAX (64 << 10) /* bytes kept of the body of a refusal */
#define HTTP_HEADER_MAX 4096

struct http;

int http_open(struct http **ret_http, struct fault *fault);
void http_release(struct http **http);

/* What to ask. Texts are borrowed for as long as the transfer lasts. */
struct http_request {
    const char *url;
    const char *accept;        /* value of the header, or NULL */
    const char *authorization; /* likewise: a secret */
    const char *form;          /* to be posted: may hold a secret; NULL: GET */
    uint64_t offset;           /* where to begin; 0 the whole */
    bool loopback;             /* the registry is this machine */
    /*
     * Takes the body of an answer of 200 or 206. 0; a negative errno ends the transfer. NULL: it is
     * put into answer.body, `body_max` bytes at most.
     */
    int (*sink)(void *data, const void *bytes, size_t length);
    /* Called once before the first byte with the status, 200 or 206. Returns as the sink. */
    int (*begin)(void *data, long status, uint64_t offset);
    void *data;
    size_t body_max;
};

struct http_answer {
    long status;                           /* 0 none came */
    char content_digest[HTTP_HEADER_MAX];  /* Docker-Content-Digest */
    char challenge[HTTP_HEADER_MAX];       /* WWW-Authenticate, several joined */
    int64_t retry_after;                   /* milliseconds; -1 not said */
    uint64_t range_start;                  /* of a 206 */
    struct buffer body;                    /* of a refusal, or where there is no sink */
};

struct transfer {
    struct http_request request;
    struct http_answer answer;
    CURL *easy;                 /* owned, as what follows */
    struct curl_slist *headers;
    char *url;                  /* where it is now, after redirects */
    unsigned redirects;
    bool active, done, began;
    int sink_error;             /* negative errno of sink or begin, or of the maximum */
    CURLcode code;              /* how libcurl ended */
    char error[CURL_ERROR_SIZE];
    const char *refused;        /* why a redirect was not followed, or NULL */
};

/* Starts a transfer in a struct that was zeroed. 0 or a negative errno. */
int http_start(struct http *http, struct transfer *transfer, const struct http_request *request,
               struct fault *fault);
void http_stop(struct http *http, struct transfer *transfer); /* frees; may be started again */

/* Waits up to so long for something to happen on any transfer. 0; -EINTR after a signal; -EIO. */
int http_turn(struct http *http, int milliseconds);

/* Ends the waiting of http_turn(), now or the next time. Any thread may call it. */
void http_wake(struct http *http);

/* Until that transfer is done. As http_turn(). */
int http_wait(struct http *http, const struct transfer *transfer);

/* Whether a transfer that is done may be tried again later: the network, 429 and 5xx. */
bool http_transfer_may_retry(const struct transfer *transfer);

/* How long to wait before the try of this number, the first being 1; as the server asked, if so. */
int64_t http_transfer_delay(const struct transfer *transfer, unsigned number);

/*
 * Fills the fault for a transfer that libcurl, the sink or a redirect ended, not an answer. Returns
 * a negative errno.
 */
int http_transfer_fault(const struct transfer *transfer, struct fault *fault);

/* Sleeps so long, or until a signal: 0 or -EINTR. */
int http_pause(int64_t milliseconds);

#endif
