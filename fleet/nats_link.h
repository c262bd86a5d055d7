/*
 * The connection to a NATS server: options, names, and its errors in words.
 *
 * Side: parent. Its functions may be called from any thread.  Source: nats.c 3.4.
 */
#ifndef FLEET_NATS_LINK_H
#define FLEET_NATS_LINK_H

#include "fleet/subject.h"
#include "images/store/language_file.h"
#include "sandbox/base/fault.h"

#include <nats/nats.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define ENVIRONMENTS_MAX (LANGUAGE_FILES_MAX + 8) /* one of each language: some are no data */
#define BROKER_DENIAL_MAX 256

/* A language, and the image that it runs on. */
struct environment_name {
    const char *language; /* borrowed */
    const char *image;    /* borrowed */
    char text[WIRE_NAME_MAX]; /* "python-0123456789ab" */
};

struct broker_options {
    const char *url, *pool;
    const char *credentials; /* file; or NULL */
    const char *authority; /* file of certificates; or NULL */
    bool may_be_insecure; /* a connection without TLS to another machine */
    const char *name; /* of this worker or front end */
    struct environment_name environments[ENVIRONMENTS_MAX];
    size_t environment_count;
};

struct nats_link {
    const struct broker_options *options; /* borrowed */
    natsConnection *connection;           /* owned */
    jsCtx *stream;                        /* owned */
    char stream_name[SUBJECT_WORD_SIZE + 8];
    char user[SUBJECT_WORD_SIZE]; /* as the broker knows it; WIRE_SHARED: it knows nobody */
    char inbox[WIRE_SUBJECT_SIZE]; /* where nobody but the broker answers this user */
    pthread_mutex_t mutex;
    int64_t disconnected_at; /* clock_now(); 0: it is connected */
    int64_t reconnected_at;  /* the last time; 0: never */
    int64_t denied_at;       /* something that this user may not; 0: never */
    char denied[BROKER_DENIAL_MAX];
};

/* "python-0123456789ab", of an image in the store. 0 or a negative errno with its fault. */
int environment_name_find(struct environment_name *environment, struct fault *fault);

/*
 * Connects; tries again for WIRE_RECONNECT_MS where a broker is there and the connection does not come about for a
 * reason that may pass. To be closed in any case; it stays where it is. 0 or a negative errno with its fault.
 */
int broker_open(struct nats_link *broker, const struct broker_options *options,
                struct fault *fault);
void broker_close(struct nats_link *broker);

/* How long the connection has been gone, in milliseconds; 0: it is there. And when it came back. */
int64_t broker_gone_ms(struct nats_link *broker);
int64_t broker_reconnected_at(struct nats_link *broker);

/* Others may not have found it again yet. */
bool broker_has_just_returned(struct nats_link *broker);

/* Waits, before the broker is asked again. */
void broker_pause(long milliseconds);

/* Whether the broker has since then denied something to this user, and what, in its words. */
bool broker_has_denied(struct nats_link *broker, int64_t since,
                       char ret_text[static BROKER_DENIAL_MAX]);

/* Fills the fault from an error of nats.c. */
int broker_fault(struct fault *fault, natsStatus status, const char *what);

#endif
