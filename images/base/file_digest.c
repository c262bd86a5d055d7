#include "images/base/file_digest.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define READ_SIZE (256 << 10)

struct file_digest {
    struct file_digest_request request;
    pthread_t thread;
    pthread_mutex_t mutex; /* protects the following members */
    pthread_cond_t changed;
    uint64_t size;                 /* bytes in the file */
    uint64_t at;                   /* bytes hashed by the thread */
    bool whole, stopped, done;
    int error; /* negative errno, when done */
    struct digest result;
};

/* Whether enough bytes have arrived to wake the thread, or the last ones. */
static bool is_due(const struct file_digest *digest)
{
    return digest->stopped || digest->whole || digest->size - digest->at >= READ_SIZE;
}

/*
 * Waits for the next bytes: their position, and their number, at most READ_SIZE; 0: no more will
 * come.
 */
static size_t bytes_await(struct file_digest *digest, uint64_t *ret_at)
{
    pthread_mutex_lock(&digest->mutex);
    while (!is_due(digest))
        pthread_cond_wait(&digest->changed, &digest->mutex);
    uint64_t more = digest->stopped ? 0 : digest->size - digest->at;
    more = more < READ_SIZE ? more : READ_SIZE;
    *ret_at = digest->at;
    digest->at += more;
    pthread_mutex_unlock(&digest->mutex);
    return (size_t)more;
}

/* 0 or a negative errno. */
static int bytes_take(const struct file_digest *digest, struct digest_stream *stream, char *bytes,
                      size_t length, uint64_t at)
{
    while (length > 0) {
        ssize_t got = pread(digest->request.fd, bytes, length, (off_t)at);
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        int r = digest_update(stream, bytes, (size_t)got);
        if (r < 0)
            return r;
        length -= (size_t)got;
        at += (uint64_t)got;
    }
    return 0;
}

static int file_read(struct file_digest *digest, struct digest *ret_result)
{
    OWNED_MEMORY char *bytes = malloc(READ_SIZE);
    OWNED(digest_release) struct digest_stream *stream = NULL;
    int r = bytes == NULL ? -ENOMEM : digest_open(digest->request.like, &stream);
    uint64_t at = 0;
    for (size_t more; r == 0 && (more = bytes_await(digest, &at)) > 0;)
        r = bytes_take(digest, stream, bytes, more, at);
    return r == 0 ? digest_finish(stream, ret_result) : r;
}

static void *thread_main(void *data)
{
    struct file_digest *digest = data;
    struct digest result = {""};
    int r = file_read(digest, &result);
    pthread_mutex_lock(&digest->mutex);
    digest->error = r;
    digest->result = result;
    digest->done = true;
    pthread_mutex_unlock(&digest->mutex);
    if (digest->request.on_end != NULL)
        digest->request.on_end(digest->request.data);
    return NULL;
}

int file_digest_start(const struct file_digest_request *request, struct file_digest **ret_digest)
{
    struct file_digest *digest = calloc(1, sizeof(*digest));
    if (digest == NULL)
        return -ENOMEM;
    digest->request = *request;
    pthread_mutex_init(&digest->mutex, NULL);
    pthread_cond_init(&digest->changed, NULL);
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    int error = pthread_create(&digest->thread, NULL, thread_main, digest);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (error != 0) {
        free(digest);
        return -error;
    }
    *ret_digest = digest;
    return 0;
}

void file_digest_extend(struct file_digest *digest, uint64_t size, bool whole)
{
    pthread_mutex_lock(&digest->mutex);
    digest->size = size;
    digest->whole |= whole;
    if (is_due(digest))
        pthread_cond_signal(&digest->changed);
    pthread_mutex_unlock(&digest->mutex);
}

int file_digest_result(struct file_digest *digest, struct digest *ret_digest)
{
    pthread_mutex_lock(&digest->mutex);
    int r = digest->done ? digest->error : -EAGAIN;
    if (r == 0)
        *ret_digest = digest->result;
    pthread_mutex_unlock(&digest->mutex);
    return r;
}

void file_digest_release(struct file_digest **digest)
{
    if (*digest == NULL)
        return;
    pthread_mutex_lock(&(*digest)->mutex);
    (*digest)->stopped = true;
    pthread_cond_signal(&(*digest)->changed);
    pthread_mutex_unlock(&(*digest)->mutex);
    pthread_join((*digest)->thread, NULL);
    pthread_cond_destroy(&(*digest)->changed);
    pthread_mutex_destroy(&(*digest)->mutex);
    free(*digest);
    *digest = NULL;
}
