/*
 * Digests of content: "sha256:HEX", read, computed and compared.
 *
 * Side: both; a jailed child computes them too, after digest_prepare() in the parent.
 * Source: OCI image-spec, descriptor.md "Digests"; EVP_DigestInit(3).
 */
#ifndef IMAGES_BASE_DIGEST_H
#define IMAGES_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#define DIGEST_TEXT_MAX 136 /* "sha512:", 128 digits and NUL */

struct digest {
    char text[DIGEST_TEXT_MAX]; /* as written; "" none */
};

/* 0; -EINVAL unless it is sha256: or sha512: with the exact number of digits 0-9a-f. */
int digest_parse(const char *text, size_t length, struct digest *ret_digest);
bool digest_equal(const struct digest *one, const struct digest *other);

/*
 * Loads libcrypto's configuration and algorithms now, from the host's files: in a jailed child they
 * would be loaded from the untrusted tree. 0 or -ENOTSUP.
 */
int digest_prepare(void);

/* A digest computed over bytes that arrive in pieces. */
struct digest_stream;

/* Uses the algorithm of `like`. 0; -ENOTSUP; -ENOMEM. */
int digest_open(const struct digest *like, struct digest_stream **ret_stream);
/* 0 or -EIO. */
int digest_update(struct digest_stream *stream, const void *data, size_t length);
/* Finishes; afterwards the stream can only be released. 0 or -EIO. */
int digest_finish(struct digest_stream *stream, struct digest *ret_digest);
void digest_release(struct digest_stream **stream);

/* Whether the bytes have this digest. */
bool digest_matches(const struct digest *digest, const void *data, size_t length);

#endif
