#include "images/store/identity.h"

#include "images/base/digest.h"
#include "images/store/lock.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PIECE (64 * 1024)
#define ADDED "images add" /* how the origin of a layer of `images add` begins */

static int add_file(struct digest_stream *stream, const char *path)
{
    char piece[PIECE];
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t count = read(fd, piece, sizeof(piece));
        if (count == 0)
            return 0;
        if (count < 0 && errno != EINTR)
            return -errno;
        int r = count > 0 ? digest_update(stream, piece, (size_t)count) : 0;
        if (r < 0)
            return r;
    }
}

/* Digests alone: mirrors may have other addresses for the same bytes. */
static int add_pieces(struct digest_stream *stream, const struct json_value *lock)
{
    int r = 0;
    const struct json_value *piece = json_member(lock, "fetched");
    for (piece = piece != NULL ? piece->first : NULL; r == 0 && piece != NULL;
         piece = piece->next) {
        const struct json_value *digest = json_member(piece, "digest");
        if (digest != NULL && digest->type == JSON_STRING)
            r = digest_update(stream, digest->text, digest->length + 1);
    }
    return r;
}

static int add_npm(struct digest_stream *stream, const struct json_value *lock)
{
    int r = 0;
    const struct json_value *package = json_member(lock, "npm");
    for (package = package != NULL ? package->first : NULL; r == 0 && package != NULL;
         package = package->next) {
        const struct json_value *integrity = json_member(package, "integrity");
        r = digest_update(stream, package->key, package->key_length + 1);
        if (r == 0 && integrity != NULL && integrity->type == JSON_STRING)
            r = digest_update(stream, integrity->text, integrity->length + 1);
    }
    return r;
}

/* 0 with *ret_found false: there is no lock. */
static int add_lock(struct digest_stream *stream, const struct image *image, bool *ret_found)
{
    OWNED_MEMORY char *path = NULL;
    OWNED(buffer_release) struct buffer text = BUFFER(LOCK_MAX + PIECE);
    OWNED(json_release) struct json *json = NULL;
    if (asprintf(&path, "%s/" LOCK_FILE, image->directory) < 0)
        return -ENOMEM;
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret_found = fd >= 0;
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int r = text_file_read_all(fd, &text);
    if (r == 0)
        r = json_parse(text.data, text.length, &json, NULL);
    if (r == 0)
        r = add_pieces(stream, json_root(json));
    return r < 0 ? r : add_npm(stream, json_root(json));
}

/* The file beside the tree of a layer lists its files, with their digests. */
static int add_layers(struct digest_stream *stream, const struct image *image, bool only_added)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < image->layer_count; i++) {
        const struct image_layer *layer = &image->layers[i];
        OWNED_MEMORY char *path = NULL;
        if (only_added && strncmp(layer->origin, ADDED, strlen(ADDED)) != 0)
            continue;
        if (asprintf(&path, "%s/../../layers/%s/contents", image->directory, layer->id) < 0)
            return -ENOMEM;
        r = add_file(stream, path);
    }
    return r;
}

int image_identity(const struct image *image, char ret_identity[static IDENTITY_SIZE],
                   struct fault *fault)
{
    static const struct digest like = {"sha256:"};
    OWNED(digest_release) struct digest_stream *stream = NULL;
    struct digest digest;
    bool has_lock = false;
    int r = digest_open(&like, &stream);
    if (r == 0)
        r = add_lock(stream, image, &has_lock);
    if (r == 0)
        r = add_layers(stream, image, has_lock);
    if (r == 0)
        r = digest_finish(stream, &digest);
    if (r < 0)
        return fault_set(fault, -r, "computing what the image %s is made of: %m", image->name);
    memcpy(ret_identity, digest.text + strlen(like.text), IDENTITY_SIZE - 1);
    ret_identity[IDENTITY_SIZE - 1] = '\0';
    return 0;
}
