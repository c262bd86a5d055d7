#include "images/registry/http.h"

#include "images/base/interrupt.h"
#include "images/base/reference.h"
#include "sandbox/base/owned.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_SECONDS_MAX 30L
#define SILENCE_SECONDS_MAX 60L
#define TURN_MILLISECONDS 100
#define DELAY_FIRST 500 /* milliseconds; doubles each time */
#define DELAY_MAX 30000
#define RETRY_AFTER_MAX 120000 /* people should decide on a longer wait */

struct http {
    CURLM *multi;
};

int http_open(struct http **ret_http, struct fault *fault)
{
    struct http *http = calloc(1, sizeof(*http));
    if (http == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        (http->multi = curl_multi_init()) == NULL) {
        free(http);
        return fault_set(fault, ENOMEM, "cannot set up libcurl");
    }
    *ret_http = http;
    return 0;
}

void http_release(struct http **http)
{
    if (*http != NULL) {
        curl_multi_cleanup((*http)->multi);
        curl_global_cleanup();
    }
    free(*http);
    *http = NULL;
}

static void curl_text_free(char **text)
{
    curl_free(*text);
}

static void url_free(CURLU **url)
{
    curl_url_cleanup(*url);
}

/* Writes "https://host:port" of a URL to `origin`. NULL, or the reason why the URL is refused. */
static const char *url_check(const char *text, bool loopback, char origin[HTTP_HEADER_MAX])
{
    OWNED(url_free) CURLU *url = curl_url();
    OWNED(curl_text_free) char *scheme = NULL;
    OWNED(curl_text_free) char *host = NULL;
    OWNED(curl_text_free) char *port = NULL;
    OWNED(curl_text_free) char *user = NULL;
    if (url == NULL || strlen(text) >= HTTP_URL_MAX ||
        curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return "is no URL that could be read";
    bool encrypted = strcmp(scheme, "https") == 0;
    if (!encrypted && strcmp(scheme, "http") != 0)
        return "is neither https nor http";
    if (curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        return "is no URL that could be read";
    if (curl_url_get(url, CURLUPART_USER, &user, 0) == CURLUE_OK)
        return "has a user in it";
    snprintf(origin, HTTP_HEADER_MAX, "%s://%s:%s", scheme, host, port);
    if (encrypted)
        return NULL;
    if (!reference_host_is_loopback(host))
        return "is not encrypted; plain http is for registries on this machine only";
    return loopback ? NULL : "leads to this machine, where the registry is not";
}

/* Copies the value of a header line, without the white space around it. */
static void header_take(const char *value, size_t length, char text[HTTP_HEADER_MAX],
                        const char *separator)
{
    while (length > 0 && strchr(" \t\r\n", value[length - 1]) != NULL)
        length--;
    while (length > 0 && (*value == ' ' || *value == '\t')) {
        value++;
        length--;
    }
    size_t used = separator != NULL ? strlen(text) : 0;
    int put = snprintf(text + used, HTTP_HEADER_MAX - used, "%s%.*s", used > 0 ? separator : "",
                       (int)length, value);
    if (put < 0 || (size_t)put >= HTTP_HEADER_MAX - used)
        text[used] = '\0'; /* a truncated header could mean something else */
}

/* RFC 9110, 10.2.3: seconds or a date. Milliseconds, or -1. */
static int64_t retry_after_read(const char *text)
{
    char *end = NULL;
    long seconds = strtol(text, &end, 10);
    if (end != text && *end == '\0')
        return seconds < 0 || seconds > 86400 ? -1 : (int64_t)seconds * 1000;
    time_t when = curl_getdate(text, NULL), now = time(NULL);
    return when == -1 || when - now > 86400 ? -1 : when > now ? (int64_t)(when - now) * 1000 : 0;
}

static bool header_is(const char *line, size_t length, const char *name)
{
    size_t size = strlen(name);
    return length > size && strncasecmp(line, name, size) == 0 && line[size] == ':';
}

static size_t on_header(char *line, size_t size, size_t count, void *data)
{
    struct transfer *transfer = data;
    struct http_answer *answer = &transfer->answer;
    size_t length = size * count;
    char text[HTTP_HEADER_MAX] = "";
    const char *colon = memchr(line, ':', length);
    size_t rest = colon != NULL ? length - (size_t)(colon + 1 - line) : 0;
    if (length > 5 && strncmp(line, "HTTP/", 5) == 0) { /* after a 100 or a proxy's 200 */
        answer->challenge[0] = answer->content_digest[0] = '\0';
        answer->retry_after = -1;
        answer->range_start = 0;
    } else if (header_is(line, length, "Www-Authenticate")) {
        header_take(colon + 1, rest, answer->challenge, ", ");
    } else if (header_is(line, length, "Docker-Content-Digest")) {
        header_take(colon + 1, rest, answer->content_digest, NULL);
    } else if (header_is(line, length, "Retry-After")) {
        header_take(colon + 1, rest, text, NULL);
        answer->retry_after = retry_after_read(text);
    } else if (header_is(line, length, "Content-Range")) {
        unsigned long long start = 0;
        header_take(colon + 1, rest, text, NULL);
        answer->range_start = sscanf(text, "bytes %llu-", &start) == 1 ? start : UINT64_MAX;
    }
    return length;
}

static int body_take(struct transfer *transfer, const void *bytes, size_t length)
{
    const struct http_request *request = &transfer->request;
    struct http_answer *answer = &transfer->answer;
    bool wanted = answer->status == 200 || answer->status == 206;
    if (!wanted) {
        size_t room = answer->body.maximum - answer->body.length;
        (void)buffer_append(&answer->body, bytes, length < room ? length : room);
        return 0;
    }
    if (request->sink == NULL) {
        int r = buffer_append(&answer->body, bytes, length);
        return r == -ENOBUFS ? -EFBIG : r;
    }
    if (!transfer->began && request->begin != NULL) {
        int r = request->begin(request->data, answer->status,
                               answer->status == 206 ? answer->range_start : 0);
        if (r < 0)
            return r;
    }
    transfer->began = true;
    return request->sink(request->data, bytes, length);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data)
{
    struct transfer *transfer = data;
    struct http_answer *answer = &transfer->answer;
    if (answer->status == 0) {
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &answer->status);
        if (answer->status != 200 && answer->status != 206)
            answer->body.maximum = HTTP_ERROR_MAX;
    }
    transfer->sink_error = body_take(transfer, bytes, size * count);
    return transfer->sink_error < 0 ? 0 : size * count;
}

static bool header_add(struct transfer *transfer, const char *name, const char *value)
{
    OWNED_MEMORY char *line = NULL;
    if (value == NULL)
        return true;
    if (asprintf(&line, "%s: %s", name, value) < 0) {
        line = NULL;
        return false;
    }
    struct curl_slist *longer = curl_slist_append(transfer->headers, line);
    explicit_bzero(line, strlen(line));
    if (longer != NULL)
        transfer->headers = longer;
    return longer != NULL;
}

static const char *first_variable(const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *value = getenv(*names);
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return NULL;
}

/* Where distributions keep their bundle of certificates. */
static const char *host_bundle(void)
{
    static const char *const paths[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem",
                                        "/etc/ssl/cert.pem",
                                        "/etc/pki/tls/cert.pem",
                                        NULL};
    for (const char *const *path = paths; *path != NULL; path++)
        if (access(*path, R_OK) == 0)
            return *path;
    return NULL;
}

/* A libcurl not made for one distribution knows no place of certificates. */
static bool lacks_trust(CURL *easy)
{
    char *bundle = NULL, *directory = NULL;
    curl_easy_getinfo(easy, CURLINFO_CAINFO, &bundle);
    curl_easy_getinfo(easy, CURLINFO_CAPATH, &directory);
    return bundle == NULL && directory == NULL;
}

static void trust_set_up(CURL *easy)
{
    static const char *const bundles[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", NULL};
    static const char *const directories[] = {"SSL_CERT_DIR", NULL};
    const char *bundle = first_variable(bundles), *directory = first_variable(directories);
    if (bundle == NULL && directory == NULL && lacks_trust(easy))
        bundle = host_bundle();
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (bundle != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, bundle);
    if (directory != NULL)
        curl_easy_setopt(easy, CURLOPT_CAPATH, directory);
}

/* Options that hold for every request of the transfer, whatever its URL. */
static void easy_set_up(struct transfer *transfer)
{
    CURL *easy = transfer->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "code-sandbox-mcp/" PROJECT_VERSION);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS_MAX);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, SILENCE_SECONDS_MAX);
    if (transfer->request.loopback)
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "localhost,127.0.0.0/8,[::1],::1");
    trust_set_up(easy);
}

/*
 * Sends the request to transfer->url. `trusted`: the URL is at the original origin, so secrets may
 * be sent.
 */
static int transfer_send(struct http *http, struct transfer *transfer, bool trusted)
{
    const struct http_request *request = &transfer->request;
    char offset[64];
    snprintf(offset, sizeof(offset), "bytes=%llu-", (unsigned long long)request->offset);
    curl_slist_free_all(transfer->headers);
    transfer->headers = NULL;
    if (!header_add(transfer, "Accept", request->accept) ||
        !header_add(transfer, "Authorization", trusted ? request->authorization : NULL) ||
        !header_add(transfer, "Range", request->offset > 0 ? offset : NULL))
        return -ENOMEM;
    buffer_release(&transfer->answer.body);
    transfer->answer = (struct http_answer){.retry_after = -1, .body = BUFFER(request->body_max)};
    curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->url);
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
    if (trusted && request->form != NULL)
        curl_easy_setopt(transfer->easy, CURLOPT_COPYPOSTFIELDS, request->form);
    transfer->active = curl_multi_add_handle(http->multi, transfer->easy) == CURLM_OK;
    return transfer->active ? 0 : -ENOMEM;
}

int http_start(struct http *http, struct transfer *transfer, const struct http_request *request,
               struct fault *fault)
{
    char origin[HTTP_HEADER_MAX];
    const char *refused = url_check(request->url, request->loopback, origin);
    if (refused != NULL)
        return fault_set(fault, EINVAL, "the address %.200s %s", request->url, refused);
    *transfer = (struct transfer){.request = *request};
    transfer->easy = curl_easy_init();
    transfer->url = strdup(request->url);
    if (transfer->easy == NULL || transfer->url == NULL)
        return fault_set(fault, ENOMEM, "no memory for a request");
    easy_set_up(transfer);
    int r = transfer_send(http, transfer, true);
    return r < 0 ? fault_set(fault, -r, "cannot start a request") : 0;
}

static void transfer_take_out(struct http *http, struct transfer *transfer)
{
    if (transfer->active)
        curl_multi_remove_handle(http->multi, transfer->easy);
    transfer->active = false;
}

void http_stop(struct http *http, struct transfer *transfer)
{
    transfer_take_out(http, transfer);
    if (transfer->easy != NULL)
        curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->headers);
    free(transfer->url);
    buffer_release(&transfer->answer.body);
    *transfer = (struct transfer){0};
}

/* Follows a redirect: 1; 0: not a redirect; or a negative errno. */
static int redirect_follow(struct http *http, struct transfer *transfer)
{
    char first[HTTP_HEADER_MAX], next[HTTP_HEADER_MAX];
    char *location = NULL;
    long status = transfer->answer.status;
    if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308)
        return 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &location);
    if (location == NULL)
        return 0;
    if (transfer->request.form != NULL || transfer->redirects++ == HTTP_REDIRECTS_MAX) {
        transfer->refused = "leads on and on";
        return -ELOOP;
    }
    OWNED_MEMORY char *url = strdup(location);
    if (url == NULL)
        return -ENOMEM;
    transfer->refused = url_check(url, transfer->request.loopback, next);
    if (transfer->refused != NULL)
        return -EPROTO;
    (void)url_check(transfer->request.url, transfer->request.loopback, first);
    free(transfer->url);
    transfer->url = pointer_take(&url);
    return transfer_send(http, transfer, strcmp(first, next) == 0) < 0 ? -ENOMEM : 1;
}

static void transfer_end(struct http *http, struct transfer *transfer, CURLcode code)
{
    transfer_take_out(http, transfer);
    transfer->code = code;
    if (transfer->answer.status == 0)
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->answer.status);
    int followed = code == CURLE_OK ? redirect_follow(http, transfer) : 0;
    if (followed < 0 && transfer->sink_error == 0)
        transfer->sink_error = followed;
    transfer->done = followed <= 0;
}

int http_turn(struct http *http, int milliseconds)
{
    int running, left;
    if (curl_multi_perform(http->multi, &running) != CURLM_OK)
        return -EIO;
    bool ended = false;
    for (CURLMsg *message; (message = curl_multi_info_read(http->multi, &left)) != NULL;) {
        struct transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; /* the message is freed with the handle */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        transfer_end(http, transfer, code);
        ended = true;
    }
    /* Signals are blocked; a pending one is noticed at the latest when the turn ends. */
    if (interrupt_signal() != 0)
        return -EINTR;
    if (!ended)
        curl_multi_poll(http->multi, NULL, 0, milliseconds, NULL);
    return 0;
}

void http_wake(struct http *http)
{
    curl_multi_wakeup(http->multi);
}

int http_wait(struct http *http, const struct transfer *transfer)
{
    int r = 0;
    while (r == 0 && !transfer->done)
        r = http_turn(http, TURN_MILLISECONDS);
    return r;
}

int http_pause(int64_t milliseconds)
{
    sigset_t mask;
    interrupt_mask(&mask);
    const struct timespec time = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = milliseconds % 1000 * 1000000};
    ppoll(NULL, 0, &time, &mask);
    return interrupt_signal() != 0 ? -EINTR : 0;
}

bool http_transfer_may_retry(const struct transfer *transfer)
{
    if (transfer->sink_error < 0)
        return false;
    if (transfer->code == CURLE_OK) {
        long status = transfer->answer.status;
        return (status == 429 || status == 408 || (status >= 500 && status != 501)) &&
               transfer->answer.retry_after <= RETRY_AFTER_MAX;
    }
    switch (transfer->code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    default:
        return false;
    }
}

int64_t http_transfer_delay(const struct transfer *transfer, unsigned number)
{
    if (transfer->code == CURLE_OK && transfer->answer.retry_after >= 0)
        return transfer->answer.retry_after;
    int64_t delay = DELAY_FIRST;
    for (unsigned i = 1; i < number && delay < DELAY_MAX; i++)
        delay *= 2;
    uint16_t chance = 0; /* to spread the retries of many clients */
    (void)!getrandom(&chance, sizeof(chance), 0);
    return delay / 2 + delay / 2 * chance / UINT16_MAX;
}

int http_transfer_fault(const struct transfer *transfer, struct fault *fault)
{
    char origin[HTTP_HEADER_MAX] = "the registry";
    (void)url_check(transfer->url, transfer->request.loopback, origin);
    const char *why =
        transfer->error[0] != '\0' ? transfer->error : curl_easy_strerror(transfer->code);
    if (transfer->refused != NULL)
        return fault_set(fault, EPROTO, "the registry sends us to an address that %s",
                         transfer->refused);
    if (transfer->sink_error == -EFBIG)
        return fault_set(fault, EFBIG, "%s sends more than %zu bytes of a document", origin,
                         transfer->request.body_max);
    if (transfer->sink_error < 0)
        return fault_set(fault, -transfer->sink_error, "cannot store the data from %s: %m%s",
                         origin,
                         transfer->sink_error == -ENOSPC || transfer->sink_error == -EDQUOT
                             ? "; make room, or set XDG_DATA_HOME to a place that has some"
                             : "");
    switch (transfer->code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return fault_set(fault, EHOSTUNREACH,
                         "cannot reach %s: %s; is there a network, and is the name right? A proxy "
                         "is taken from HTTPS_PROXY",
                         origin, why);
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
        return fault_set(fault, EHOSTUNREACH,
                         "cannot reach %s: %s; is there a network? A proxy is taken from "
                         "HTTPS_PROXY",
                         origin, why);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return fault_set(fault, EKEYREJECTED,
                         "the certificate of %s is not trusted: %s; where your network has "
                         "certificates of its own, name their file in SSL_CERT_FILE",
                         origin, why);
    default:
        return fault_set(fault, EPROTO, "fetching from %s failed: %s", origin, why);
    }
}
