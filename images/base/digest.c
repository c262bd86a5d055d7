#include "images/base/digest.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

struct algorithm {
    const char *name;
    size_t digits;
    const EVP_MD *(*find)(void);
};

static const struct algorithm algorithms[] = {
    {"sha256", 64, EVP_sha256},
    {"sha512", 128, EVP_sha512},
};

struct digest_stream {
    const struct algorithm *algorithm;
    EVP_MD_CTX *context;
};

static const struct algorithm *algorithm_find(const char *text)
{
    for (size_t i = 0; i < ARRAY_LENGTH(algorithms); i++) {
        size_t length = strlen(algorithms[i].name);
        if (strncmp(text, algorithms[i].name, length) == 0 && text[length] == ':')
            return &algorithms[i];
    }
    return NULL;
}

int digest_parse(const char *text, size_t length, struct digest *ret_digest)
{
    struct digest digest = {""};
    if (length >= sizeof(digest.text) || memchr(text, '\0', length) != NULL)
        return -EINVAL;
    memcpy(digest.text, text, length);
    digest.text[length] = '\0';
    const struct algorithm *algorithm = algorithm_find(digest.text);
    if (algorithm == NULL)
        return -EINVAL;
    const char *digits = digest.text + strlen(algorithm->name) + 1;
    if (strlen(digits) != algorithm->digits ||
        strspn(digits, "0123456789abcdef") != algorithm->digits)
        return -EINVAL;
    *ret_digest = digest;
    return 0;
}

bool digest_equal(const struct digest *one, const struct digest *other)
{
    return strcmp(one->text, other->text) == 0;
}

int digest_prepare(void)
{
    if (OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) != 1)
        return -ENOTSUP;
    for (size_t i = 0; i < ARRAY_LENGTH(algorithms); i++) {
        struct digest like = {""}, result;
        snprintf(like.text, sizeof(like.text), "%s:", algorithms[i].name);
        OWNED(digest_release) struct digest_stream *stream = NULL;
        int r = digest_open(&like, &stream);
        if (r < 0 || digest_finish(stream, &result) < 0)
            return -ENOTSUP;
    }
    return 0;
}

int digest_open(const struct digest *like, struct digest_stream **ret_stream)
{
    const struct algorithm *algorithm = algorithm_find(like->text);
    if (algorithm == NULL)
        return -ENOTSUP;
    OWNED(digest_release) struct digest_stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        return -ENOMEM;
    stream->algorithm = algorithm;
    stream->context = EVP_MD_CTX_new();
    if (stream->context == NULL)
        return -ENOMEM;
    if (EVP_DigestInit_ex(stream->context, algorithm->find(), NULL) != 1)
        return -ENOTSUP;
    *ret_stream = pointer_take(&stream);
    return 0;
}

int digest_update(struct digest_stream *stream, const void *data, size_t length)
{
    return EVP_DigestUpdate(stream->context, data, length) == 1 ? 0 : -EIO;
}

int digest_finish(struct digest_stream *stream, struct digest *ret_digest)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_DigestFinal_ex(stream->context, bytes, &length) != 1 ||
        (size_t)length * 2 != stream->algorithm->digits)
        return -EIO;
    int at = snprintf(ret_digest->text, sizeof(ret_digest->text), "%s:", stream->algorithm->name);
    for (unsigned i = 0; i < length; i++)
        at += snprintf(ret_digest->text + at, sizeof(ret_digest->text) - (size_t)at, "%02x",
                       bytes[i]);
    return 0;
}

void digest_release(struct digest_stream **stream)
{
    if (*stream != NULL)
        EVP_MD_CTX_free((*stream)->context);
    free(*stream);
    *stream = NULL;
}

bool digest_matches(const struct digest *digest, const void *data, size_t length)
{
    OWNED(digest_release) struct digest_stream *stream = NULL;
    struct digest found;
    return digest_open(digest, &stream) == 0 && digest_update(stream, data, length) == 0 &&
           digest_finish(stream, &found) == 0 && digest_equal(digest, &found);
}
