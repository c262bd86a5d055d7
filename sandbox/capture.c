#include "sandbox/capture.h"

#include "sandbox/limits/limits.h"

#include <errno.h>

void capture_open(struct capture *capture, uint64_t kept)
{
    uint64_t tail = kept / 4 < RUN_OUTPUT_TAIL ? kept / 4 : RUN_OUTPUT_TAIL;
    *capture = (struct capture){
        .head = BUFFER(kept - tail),
        /* Twice the size, so that old bytes are dropped once per tail and not once per read. */
        .tail = BUFFER(2 * tail),
    };
}

/* Adds bytes that do not fit into the head to the tail, dropping the oldest. */
static int add_to_tail(struct capture *capture, const char *bytes, size_t length)
{
    size_t kept = capture->tail.maximum / 2;
    if (length > kept) {
        capture->cut += length - kept;
        bytes += length - kept;
        length = kept;
    }
    if (capture->tail.length + length > capture->tail.maximum) {
        size_t old = capture->tail.length - (kept - length);
        capture->cut += old;
        buffer_consume(&capture->tail, old);
    }
    int r = buffer_append(&capture->tail, bytes, length);
    if (r < 0)
        capture->cut += length;
    return r;
}

int capture_add(struct capture *capture, const char *bytes, size_t length)
{
    capture->total += length;
    size_t room = capture->head.maximum - capture->head.length;
    /* Once the tail has bytes, the head is closed: the order must not change. */
    if (capture->tail.length > 0 || capture->cut > 0)
        room = 0;
    size_t head = length < room ? length : room;
    if (buffer_append(&capture->head, bytes, head) < 0) {
        capture->cut += length;
        return -ENOMEM;
    }
    return head < length ? add_to_tail(capture, bytes + head, length - head) : 0;
}

void capture_end(struct capture *capture)
{
    size_t kept = capture->tail.maximum / 2;
    if (capture->cut == 0 || capture->tail.length <= kept)
        return;
    capture->cut += capture->tail.length - kept;
    buffer_consume(&capture->tail, capture->tail.length - kept);
}

void capture_release(struct capture *capture)
{
    buffer_release(&capture->head);
    buffer_release(&capture->tail);
}
