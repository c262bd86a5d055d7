#include "images/registry/blobs.h"

#include "images/base/interrupt.h"
#include "images/base/room.h"
#include "images/registry/download.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"

#include <stdio.h>
#include <string.h>

#define TRIES_MAX 5      /* consecutive tries without any bytes */
#define LOGINS_MAX 2     /* likewise */
#define TURN_MILLISECONDS 100

enum blob_state {
    BLOB_WAITING, /* for a free slot, or for the time of its next try */
    BLOB_COMING,
    BLOB_CHECKED, /* complete, its digest being computed */
    BLOB_WHOLE,
    BLOB_GIVEN,
};

struct blob {
    enum blob_state state;
    struct download download;
    struct transfer transfer;
    char url[HTTP_URL_MAX];
    unsigned failures, refusals; /* since the last bytes arrived */
    unsigned logins;             /* number of the login used by the try */
    int64_t not_before;          /* clock_now() */
    uint64_t at_start;           /* bytes present when the try began */
};

struct blobs {
    const struct blobs_request *request;
    struct blob *items; /* owned */
    size_t count;
    size_t given;
    uint64_t total; /* bytes */
};

static void blobs_release(struct blobs *blobs)
{
    for (size_t i = 0; i < blobs->count; i++) {
        http_stop(blobs->request->session->http, &blobs->items[i].transfer);
        download_release(&blobs->items[i].download);
    }
    free(blobs->items);
}

/* What they unpack to is not known: the store needs room for the missing bytes at least. */
static int blobs_room_check(const struct blobs *blobs, struct fault *fault)
{
    char what[64];
    uint64_t have = 0;
    for (size_t i = 0; i < blobs->count; i++)
        have += blobs->items[i].download.have;
    const struct room room = {blobs->total - have, 0};
    snprintf(what, sizeof(what), "%zu layers", blobs->count);
    return room_check(blobs->request->store, what, &room, fault);
}

/* Opens the file of each blob; complete ones are not requested. */
static int blobs_prepare(const struct blobs_request *request, struct blobs *blobs,
                         struct fault *fault)
{
    const struct document *document = request->document;
    blobs->request = request;
    blobs->items = calloc(document->layer_count + 1, sizeof(*blobs->items));
    if (blobs->items == NULL)
        return fault_set(fault, ENOMEM, "no memory for the layers of an image");
    for (size_t i = 0; i < document->layer_count; i++) {
        struct blob *blob = &blobs->items[i];
        *blob = (struct blob){.download = DOWNLOAD_NONE};
        blobs->count++;
        int r = download_begin(request->downloads_fd, &document->layers[i], &blob->download, fault);
        if (r < 0)
            return r;
        blobs->total += document->layers[i].size;
    }
    return blobs_room_check(blobs, fault);
}

/* Called in the thread of a digest. */
static void on_digest(void *data)
{
    http_wake(data);
}

static int on_begin(void *data, long status, uint64_t offset)
{
    struct blob *blob = data;
    if (status == 206 && offset == blob->download.have)
        return 0;
    /* 200: the whole blob from its start. 206: a part we did not request. */
    return status == 200 ? download_restart(&blob->download) : -EPROTO;
}

static int on_bytes(void *data, const void *bytes, size_t length)
{
    struct blob *blob = data;
    return download_write(&blob->download, bytes, length);
}

static int blob_start(struct blobs *blobs, struct blob *blob, struct fault *fault)
{
    struct registry_session *session = blobs->request->session;
    session_blob_url(session, &blob->download.wanted.digest, blob->url);
    const struct http_request request = {
        .url = blob->url,
        .authorization = session->authorization,
        .offset = blob->download.have,
        .loopback = session->loopback,
        .sink = on_bytes,
        .begin = on_begin,
        .data = blob,
        .body_max = HTTP_ERROR_MAX,
    };
    blob->logins = session->logins;
    blob->at_start = blob->download.have;
    blob->state = BLOB_COMING;
    return http_start(session->http, &blob->transfer, &request, fault);
}

/* Checks the digest of a complete file. 0, also if not known yet; or a fault. */
static int blob_check(struct blobs *blobs, struct blob *blob, struct fault *fault)
{
    int r = download_check(&blob->download);
    if (r == -EAGAIN)
        return 0;
    if (r == 0) {
        blob->state = BLOB_WHOLE;
        return 0;
    }
    if (r != -EBADMSG)
        return fault_set(fault, -r, "cannot compute the digest of a layer: %m");
    if (blob->download.resumed) {
        blob->state = BLOB_WAITING;
        r = download_restart(&blob->download);
        return r < 0 ? fault_set(fault, -r, "cannot begin a download anew: %m") : 0;
    }
    download_remove(&blob->download);
    return fault_set(fault, EBADMSG, "%s sends a layer that is not %s: refused",
                     blobs->request->session->reference->host, blob->download.wanted.digest.text);
}

static int blob_wait(struct blob *blob, int64_t milliseconds)
{
    blob->state = BLOB_WAITING;
    blob->not_before = clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND;
    return 0;
}

/* Handles a 401. */
static int blob_login(struct blobs *blobs, struct blob *blob, struct fault *fault)
{
    struct registry_session *session = blobs->request->session;
    if (blob->refusals++ == LOGINS_MAX)
        return session_refusal(session, &blob->transfer, fault);
    int r = session_authorize(session, blob->transfer.answer.challenge, blob->logins, fault);
    return r < 0 ? r : blob_wait(blob, 0);
}

/* Decides what follows a finished try. 0 or a fault. */
static int blob_judge(struct blobs *blobs, struct blob *blob, struct fault *fault)
{
    const struct transfer *transfer = &blob->transfer;
    struct download *download = &blob->download;
    long status = transfer->answer.status;
    bool answered = transfer->code == CURLE_OK && transfer->sink_error == 0;
    if (download->have > blob->at_start)
        blob->failures = blob->refusals = 0;
    if (transfer->sink_error == -EMSGSIZE) {
        download_remove(download);
        return fault_set(fault, EBADMSG,
                         "%s sends more of a layer than the %llu bytes of %s: refused",
                         blobs->request->session->reference->host,
                         (unsigned long long)download->wanted.size, download->wanted.digest.text);
    }
    if (answered && (status == 200 || status == 206)) {
        if (download_is_complete(download)) {
            blob->state = BLOB_CHECKED;
            return 0;
        }
        download_remove(download);
        return fault_set(fault, EBADMSG,
                         "%s sends %llu bytes of a layer instead of the %llu of %s: "
                         "refused",
                         blobs->request->session->reference->host,
                         (unsigned long long)download->have,
                         (unsigned long long)download->wanted.size, download->wanted.digest.text);
    }
    if (answered && status == 401)
        return blob_login(blobs, blob, fault);
    if (answered && status == 416 && download->have > 0) {
        int r = download_restart(download);
        return r < 0 ? fault_set(fault, -r, "cannot begin a download anew: %m")
                     : blob_wait(blob, 0);
    }
    if (http_transfer_may_retry(transfer) && ++blob->failures < TRIES_MAX)
        return blob_wait(blob, http_transfer_delay(transfer, blob->failures));
    return answered ? session_refusal(blobs->request->session, transfer, fault)
                    : http_transfer_fault(transfer, fault);
}

/* Passes on complete layers, in order. */
static int blobs_give(struct blobs *blobs, struct fault *fault)
{
    int r = 0;
    while (r == 0 && blobs->given < blobs->count &&
           blobs->items[blobs->given].state == BLOB_WHOLE) {
        struct blob *blob = &blobs->items[blobs->given];
        if (blobs->request->layers != NULL)
            r = layers_give(blobs->request->layers, blob->download.fd,
                            &blobs->request->diff_ids[blobs->given], fault);
        blob->state = BLOB_GIVEN;
        blobs->given++;
    }
    return r;
}

/* Whether it counts as one of the parallel downloads; each has a thread. */
static bool blob_is_busy(const struct blob *blob)
{
    return blob->state == BLOB_COMING || blob->state == BLOB_CHECKED;
}

/* Complete files are only checked. */
static int blob_begin(struct blobs *blobs, struct blob *blob, struct fault *fault)
{
    int r = download_start(&blob->download, on_digest, blobs->request->session->http);
    if (r < 0)
        return fault_set(fault, -r, "cannot start to compute the digest of a layer: %m");
    if (!download_is_complete(&blob->download))
        return blob_start(blobs, blob, fault);
    blob->state = BLOB_CHECKED;
    return 0;
}

/* Starts waiting blobs as slots allow, the lowest first. */
static int blobs_start(struct blobs *blobs, struct fault *fault)
{
    size_t coming = 0;
    int64_t now = clock_now();
    for (size_t i = 0; i < blobs->count; i++)
        coming += blob_is_busy(&blobs->items[i]);
    for (size_t i = blobs->given; i < blobs->count && coming < BLOBS_AT_ONCE; i++) {
        struct blob *blob = &blobs->items[i];
        if (blob->state != BLOB_WAITING || blob->not_before > now)
            continue;
        int r = blob_begin(blobs, blob, fault);
        if (r < 0)
            return r;
        coming++;
    }
    return 0;
}

static int blobs_collect(struct blobs *blobs, struct fault *fault)
{
    int r = 0;
    for (size_t i = blobs->given; r == 0 && i < blobs->count; i++) {
        struct blob *blob = &blobs->items[i];
        if (blob->state == BLOB_CHECKED)
            r = blob_check(blobs, blob, fault);
        if (blob->state != BLOB_COMING || !blob->transfer.done)
            continue;
        r = blob_judge(blobs, blob, fault);
        http_stop(blobs->request->session->http, &blob->transfer);
    }
    return r;
}

static void blobs_show(const struct blobs *blobs)
{
    struct progress_part parts[BLOBS_AT_ONCE];
    size_t count = 0;
    uint64_t have = 0;
    for (size_t i = 0; i < blobs->count; i++) {
        const struct blob *blob = &blobs->items[i];
        have += blob->download.have;
        if (blob->state == BLOB_COMING && count < BLOBS_AT_ONCE)
            parts[count++] =
                (struct progress_part){i + 1, blob->download.have, blob->download.wanted.size};
    }
    progress_bytes(blobs->request->progress, have, blobs->total, parts, count);
}

static int blobs_turn(struct blobs *blobs, struct fault *fault)
{
    int r = blobs_start(blobs, fault);
    if (r == 0)
        r = blobs_give(blobs, fault);
    if (r < 0 || blobs->given == blobs->count)
        return r;
    if (http_turn(blobs->request->session->http, TURN_MILLISECONDS) < 0)
        return interrupt_signal() != 0 ? fault_set(fault, EINTR,
                                                   "interrupted by %s; what came of the layers is "
                                                   "kept for the next time",
                                                   signal_name(interrupt_signal()))
                                       : fault_set(fault, EIO, "libcurl cannot go on");
    r = blobs_collect(blobs, fault);
    if (r == 0 && blobs->request->layers != NULL)
        r = layers_attend(blobs->request->layers, fault);
    blobs_show(blobs);
    return r;
}

int blobs_fetch(const struct blobs_request *request, struct fault *fault)
{
    OWNED(blobs_release) struct blobs blobs = {.request = request};
    int r = blobs_prepare(request, &blobs, fault);
    while (r == 0 && blobs.given < blobs.count)
        r = blobs_turn(&blobs, fault);
    return r;
}
